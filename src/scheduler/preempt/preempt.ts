import type { Cluster } from '../cluster/cluster.ts';
import { PodFilters } from '../filter/filters.ts';
import type { Refusal } from '../filter/verdict.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import type { Placement } from '../place/place.ts';
import { type Choice, choose } from './choose.ts';
import { noPreemptionMessage, preemptionMessage } from './scheduling-message.ts';
import { victimPriority } from './preemption-unit.ts';
import { type Candidate, victimSetsOn, victimsOn } from './victims.ts';

/** What the scheduler’s preemption would do for a pod that no node takes. */
export interface Preemption extends Choice {
  /** Every node where it would help, in the order of the cluster’s nodes. */
  readonly candidates: readonly Candidate[];
  /**
   * Other victims on the nodes of `best`, where pods are equally important: each set may be taken
   * instead of the one in `best`. Null where `best` has too many nodes to search.
   */
  readonly equals: readonly Candidate[] | null;
  /** In the order of the nodes: why it would not help there; null where it would. */
  readonly refusals: readonly (Refusal | null)[];
  /** The scheduler’s words after those of the filters. Empty when it succeeds and says nothing. */
  readonly message: string;
  /** Less important pods that lose the promise of a node, by the node that is chosen. */
  readonly unpromised: ReadonlyMap<string, readonly SchedulerPod[]>;
}

/** Where more nodes are equally good, none is searched for equal victims. */
const MOST_SEARCHED = 8;
const NOT_HELPFUL: Refusal = Object.freeze({
  code: 'unresolvable',
  plugin: 'DefaultPreemption',
  reasons: ['Preemption is not helpful for scheduling'],
});

/** Works out whom the scheduler would evict for a pod that `placePod` found no node for. */
export function preempt(cluster: Cluster, { pod, refusals: refused }: Placement): Preemption {
  const ineligible = whyNotEligible(cluster, pod, refused);
  if (ineligible !== null) return { ...NONE, refusals: refused.map(() => NOT_HELPFUL), message: `preemption: ${ineligible}` };
  const filters = new PodFilters(pod, cluster);
  const tried = cluster.nodes.map((node, index) =>
    refused[index]?.code === 'unschedulable' ? victimsOn(node, pod, filters, cluster) : NOT_HELPFUL,
  );
  const candidates = tried.filter((each): each is Candidate => 'node' in each);
  const refusals = tried.map((each) => ('node' in each ? null : each));
  const tryable = refused.filter((refusal) => refusal?.code === 'unschedulable').length;
  const choice = choose(candidates, tryable);
  const [first] = choice.best;
  const message = first === undefined ? noPreemptionMessage(refusals) : preemptionMessage(cluster.rules, first);
  const unpromised = new Map(choice.possible.map(({ node }) => [node, unpromisedOn(cluster, node, pod)]));
  const equalsOn = (name: string): readonly Candidate[] => {
    const node = cluster.node(name);
    return node === null ? [] : victimSetsOn(node, pod, filters, cluster).slice(1);
  };
  const equals = choice.best.length > MOST_SEARCHED ? null : choice.best.flatMap(({ node }) => equalsOn(node));
  return { ...choice, candidates, equals, refusals, message, unpromised };
}

const NONE = { candidates: [], best: [], possible: [], equals: [], unpromised: new Map<string, readonly SchedulerPod[]>() } as const;

/** Why a pod may not evict any other now; null when it may. */
function whyNotEligible(cluster: Cluster, pod: SchedulerPod, refused: Placement['refusals']): string | null {
  if (pod.neverPreempts) return 'not eligible due to preemptionPolicy=Never.';
  const promised = pod.nominatedNode === null ? null : cluster.node(pod.nominatedNode);
  if (promised === null || refused[cluster.nodes.indexOf(promised)]?.code === 'unresolvable') return null;
  const isWaitedFor = promised.pods.some((each) => each.pod.isPreempted && victimPriority(each.pod, cluster) < pod.priority);
  return isWaitedFor ? 'not eligible due to a terminating pod on the nominated node.' : null;
}

function unpromisedOn(cluster: Cluster, node: string, { priority }: SchedulerPod): readonly SchedulerPod[] {
  return cluster.nominatedTo(node).flatMap((each) => (each.pod.priority < priority ? [each.pod] : []));
}
