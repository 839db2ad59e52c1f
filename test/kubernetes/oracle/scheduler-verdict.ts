import { type KubeObject, objectOf } from '../../../src/kube/objects/object.ts';
import { Cluster } from '../../../src/scheduler/cluster/cluster.ts';
import { clusterInputOf, podDefaultsOf } from '../../../src/scheduler/objects/cluster-input.ts';
import { schedulerPodOf } from '../../../src/scheduler/objects/pod.ts';
import { placeGroup } from '../../../src/scheduler/place/place-group.ts';
import { type Placement, placePod } from '../../../src/scheduler/place/place.ts';
import { type Preemption, preempt } from '../../../src/scheduler/preempt/preempt.ts';
import { type GroupPreemption, preemptForGroup } from '../../../src/scheduler/preempt/preempt-group.ts';
import { failedSchedulingMessage, preemptionMessage } from '../../../src/scheduler/preempt/scheduling-message.ts';
import { scoreNodes } from '../../../src/scheduler/score/scores.ts';
import { type Minor, orders } from './check.ts';
import type { GangQuestion, ScheduleQuestion } from './scheduling-objects.ts';

export interface FilterVerdict {
  readonly code: string;
  readonly plugin?: string;
  readonly reasons?: readonly string[];
}

export interface VictimsOnNode {
  readonly victims: readonly string[];
  readonly violations: number;
}

export interface PreemptionVerdict {
  readonly code: string;
  readonly node?: string;
  readonly victims?: readonly string[];
  readonly unpromised?: readonly string[];
  readonly candidates: Readonly<Record<string, VictimsOnNode>>;
}

/** What the scheduler of Kubernetes answers. */
export interface Verdict {
  readonly filters: Readonly<Record<string, FilterVerdict>>;
  readonly scores?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly preemption?: PreemptionVerdict;
  /** The text of the FailedScheduling event. */
  readonly message?: string;
}

/**
 * What `src/scheduler` answers, in the same form. A preemption may choose among several nodes: this
 * has a verdict for each of them.
 */
export interface OwnVerdict extends Pick<Verdict, 'filters' | 'scores'> {
  /** All nodes with the best score. */
  readonly tied: readonly string[];
  readonly choices: readonly Pick<Verdict, 'preemption' | 'message'>[];
}

const CODES = { unschedulable: 'Unschedulable', unresolvable: 'UnschedulableAndUnresolvable' } as const;

/** Puts the question for Kubernetes’ own code to `src/scheduler`. */
export function schedulerVerdict({ schedule }: ScheduleQuestion, minor: Minor): OwnVerdict {
  const { cluster, objects } = readCluster(schedule, schedule.nominated, minor);
  const pod = schedulerPodOf(read('v1', 'Pod', schedule.pod), podDefaultsOf(objects));
  const placement = placePod(cluster, pod);
  const others = placement.node === null ? budgetOrders(schedule.budgets, minor) : [];
  const clusters = others.map((budgets) => readCluster({ ...schedule, budgets }, schedule.nominated, minor).cluster);
  return {
    filters: filtersOf(cluster, placement),
    ...(placement.node === null ? {} : { scores: scoresOf(cluster, placement) }),
    tied: placement.tied,
    choices: clusters.flatMap((each) => choicesOf(cluster, each, placement)),
  };
}

/**
 * The orders in which the scheduler may go through the budgets. From 1.37 on the order counts, and
 * its cache has none.
 */
function budgetOrders(budgets: readonly object[], minor: Minor): readonly (readonly object[])[] {
  return minor < 37 ? [budgets] : orders(budgets);
}

/** Where members of a PodGroup go, and what a preemption for them would do. */
export interface GangVerdict {
  readonly placed: Readonly<Record<string, string>>;
  readonly shortfall?: string;
  readonly gangPreemption?: {
    readonly code: string;
    readonly message: string;
    readonly nodes?: Readonly<Record<string, string>>;
    readonly victims?: readonly string[];
  };
}

/** Asks `src/scheduler` about members of a PodGroup: each answer that the real code may give. */
export function gangVerdicts({ gang }: GangQuestion, minor: Minor): readonly GangVerdict[] {
  return budgetOrders(gang.budgets, minor).map((budgets) => gangVerdict({ ...gang, budgets }, minor));
}

function gangVerdict(gang: GangQuestion['gang'], minor: Minor): GangVerdict {
  const { cluster, objects } = readCluster(gang, [], minor);
  const members = gang.members.map((each) => schedulerPodOf(read('v1', 'Pod', each), podDefaultsOf(objects)));
  const group = cluster.groups.get(`default/${gang.group}`);
  if (group === undefined) throw new Error(`a case has no group ${gang.group}`);
  const placement = placeGroup(cluster, group, members);
  const placed = Object.fromEntries(placement.placements.flatMap(({ pod, node }) => (node === null ? [] : [[pod.name, node]])));
  if (placement.shortfall === null) return { placed };
  return { placed, shortfall: placement.shortfall, gangPreemption: toldOfGang(preemptForGroup(cluster, placement)) };
}

function toldOfGang({ nodes, victims, message }: GroupPreemption): NonNullable<GangVerdict['gangPreemption']> {
  const words = `pod group preemption: ${message}`;
  if (nodes.size === 0) {
    const isHopeless = message === 'No preemption victims found for incoming preemptor';
    return { code: isHopeless ? CODES.unresolvable : CODES.unschedulable, message: words };
  }
  const promised = Object.fromEntries([...nodes].map(([key, node]) => [key.slice(key.indexOf('/') + 1), node]));
  const evicted = namesOf(victims.filter(({ isTerminating }) => !isTerminating)).sort();
  return { code: 'Success', message: words, nodes: promised, ...some({ victims: evicted }) };
}

type Described = Omit<ScheduleQuestion['schedule'], 'pod' | 'nominated'>;

function readCluster(
  { nodes, pods, budgets, groups }: Described,
  nominated: readonly object[],
  minor: Minor,
): { readonly cluster: Cluster; readonly objects: readonly KubeObject[] } {
  const objects = [
    ...nodes.map((node) => read('v1', 'Node', node)),
    ...[...pods, ...nominated].map((each) => read('v1', 'Pod', each)),
    ...budgets.map((budget) => read('policy/v1', 'PodDisruptionBudget', budget)),
    ...(groups ?? []).map((group) => read('scheduling.k8s.io/v1beta1', 'PodGroup', group)),
  ];
  return { cluster: new Cluster(clusterInputOf(objects, { minor, hasGroups: groups !== undefined })), objects };
}

function read(apiVersion: string, kind: string, fields: object): KubeObject {
  const object = objectOf({ apiVersion, kind, ...fields });
  if (object === null) throw new Error(`a case has a ${kind} that is no object: ${JSON.stringify(fields)}`);
  return object;
}

function filtersOf({ nodes }: Cluster, { refusals }: Placement): OwnVerdict['filters'] {
  return Object.fromEntries(
    nodes.map(({ node }, index): readonly [string, FilterVerdict] => {
      const refusal = refusals[index] ?? null;
      if (refusal === null) return [node.name, { code: 'Success' }];
      const { code, plugin, reasons } = refusal;
      // Kubernetes names the plugin that left a node out before the filters in the reason only.
      const isLeftOut = reasons.some((reason) => reason.startsWith("node(s) didn't satisfy plugin(s)"));
      return [node.name, { code: CODES[code], reasons, ...(isLeftOut ? {} : { plugin }) }];
    }),
  );
}

function scoresOf(cluster: Cluster, { pod, refusals }: Placement): Readonly<Record<string, Readonly<Record<string, number>>>> {
  const passed = cluster.nodes.filter((_, index) => refusals[index] === null);
  const { totals, byPlugin } = scoreNodes(cluster, pod, passed);
  return Object.fromEntries(
    passed.map(({ node }, index) => {
      const row = [...byPlugin].map(([plugin, { weight, scores }]) => [plugin, weight * (scores?.[index] ?? 0)] as const);
      return [node.name, { ...Object.fromEntries(row), total: totals[index] ?? 0 }];
    }),
  );
}

/** The candidates are those of the case; the choice is made with the budgets in another order. */
function choicesOf(cluster: Cluster, reordered: Cluster, placement: Placement): OwnVerdict['choices'] {
  const preemption = preempt(reordered, placement);
  // The real code also tells what a preemption would cost for a pod that never preempts.
  const willing = preempt(cluster, { ...placement, pod: { ...placement.pod, neverPreempts: false } });
  const candidates = Object.fromEntries(
    willing.candidates.map(({ node, victims, violations }) => [node, { victims: namesOf(victims), violations }]),
  );
  if (preemption.best.length === 0) return [{ preemption: { code: CODES.unschedulable, candidates }, ...messageOf(placement, preemption) }];
  return preemption.best.map((chosen) => {
    // A pod that is ending is not evicted again.
    const evicted = chosen.victims.filter(({ isTerminating }) => !isTerminating);
    const [victims, unpromised] = [evicted, preemption.unpromised.get(chosen.node) ?? []].map((pods) => namesOf(pods).sort());
    return {
      preemption: { code: 'Success', node: chosen.node, ...some({ victims, unpromised }), candidates },
      ...messageOf(placement, { message: preemptionMessage(cluster.rules, chosen) }),
    };
  });
}

function messageOf(placement: Placement, preemption: Pick<Preemption, 'message'>): Pick<Verdict, 'message'> {
  const message = failedSchedulingMessage(placement, preemption);
  return message === null ? {} : { message };
}

function namesOf(pods: readonly { readonly name: string }[]): string[] {
  return pods.map(({ name }) => name);
}

/** Kubernetes’ own code leaves empty lists out. */
function some(lists: Readonly<Record<string, readonly string[] | undefined>>): object {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list !== undefined && list.length > 0));
}
