import { at, listAt } from '../../kube/objects/fields.ts';
import { cloudOf } from '../../kube/objects/grace-facts.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import { Cluster } from '../../scheduler/cluster/cluster.ts';
import type { Budget } from '../../scheduler/objects/budget.ts';
import type { SchedulerPod } from '../../scheduler/objects/pod.ts';
import { selects } from '../../scheduler/objects/selector.ts';
import { drawNodes, type NodeDrawing } from '../drawing/draw-nodes.ts';
import { podKey } from '../gangs/gang.ts';
import { type Cost, costOf } from '../loss/cost.ts';
import { type StoppedGang, stoppedGangs } from '../loss/stopped-gangs.ts';
import { gangsOf } from '../world/gangs-of.ts';
import { type Note, someOf } from '../world/note.ts';
import type { World } from '../world/world.ts';
import { type Leaving, type PodTime, podTime } from './pod-time.ts';

/** A pod of a node that goes. */
export interface LeavingPod extends PodTime {
  readonly pod: SchedulerPod;
  readonly node: string;
}

/** A pod that stays on its node, and why. */
export interface StayingPod {
  readonly pod: string;
  readonly node: string;
  readonly because: string;
}

/** The answer to `whatif drain`, `reclaim` and `lose`. */
export interface LeaveAnswer {
  readonly leaving: readonly LeavingPod[];
  readonly staying: readonly StayingPod[];
  readonly gangs: readonly StoppedGang[];
  readonly cost: Cost;
  readonly drawing: readonly NodeDrawing[];
  readonly notes: readonly Note[];
}

/** Works out what is lost when nodes go. Every name must be a node of the world. */
export function answerLeave(world: World, nodes: ReadonlySet<string>, how: Leaving): LeaveAnswer {
  const before = world.cluster();
  const objects = new Map(world.objects.filter(({ kind }) => kind === 'Pod').map((pod) => [podKey(pod), pod]));
  const there = [...nodes].flatMap((name) => before.node(name)?.pods.map(({ pod }) => ({ pod, node: name })) ?? []);
  const ordered = how === 'lose' ? there : there.toSorted((a, b) => a.pod.priority - b.pod.priority);
  const staying: StayingPod[] = [];
  const budgets = world.input.budgets.map((budget) => ({ budget, left: budget.allowed }));
  const leaving = ordered.filter(({ pod, node }) => {
    const because = how === 'drain' ? (whyStays(pod, objects.get(pod.key)) ?? whyBlocked(pod, budgets)) : null;
    if (because !== null) staying.push({ pod: pod.key, node, because });
    return because === null;
  });
  const gone = new Set(leaving.map(({ pod }) => pod.key));
  const after = clusterAfter(world, nodes, gone, how);
  const gangs = stoppedGangs(
    world,
    leaving.filter(({ pod }) => !isDaemon(pod)).map(({ pod }) => pod),
    after,
  );
  const stopped = gangsOf(world, [...gone]);
  return {
    leaving: leaving.map(({ pod, node }) => ({ pod, node, ...podTime(how, objects.get(pod.key), nodeObject(world, node)) })),
    staying,
    gangs,
    cost: costOf(world, stopped),
    drawing: drawNodes({
      before,
      after,
      leaving: gone,
      stopped: new Set(stopped.flatMap(({ pods }) => pods.map(podKey))),
      coming: new Set(),
    }),
    notes: [
      ...cloudNotes(how, world, nodes),
      ...notesOf(
        how,
        leaving.map(({ pod }) => pod),
        objects,
      ),
      ...world.notes,
    ],
  };
}

function nodeObject({ objects }: World, name: string): KubeObject | undefined {
  return objects.find((object) => object.kind === 'Node' && object.name === name);
}

/** A drained node stays, cordoned; a node that is reclaimed or lost is no place for any pod. */
function clusterAfter({ input }: World, names: ReadonlySet<string>, gone: ReadonlySet<string>, how: Leaving): Cluster {
  const nodes =
    how === 'drain'
      ? input.nodes.map((node) => (names.has(node.name) ? { ...node, isCordoned: true } : node))
      : input.nodes.filter(({ name }) => !names.has(name));
  return new Cluster({ ...input, nodes, pods: input.pods.filter(({ key }) => !gone.has(key)) });
}

function isDaemon({ controller }: SchedulerPod): boolean {
  return controller?.kind === 'DaemonSet';
}

function whyStays(pod: SchedulerPod, object: KubeObject | undefined): string | null {
  if (isDaemon(pod)) return 'a drain leaves pods of a DaemonSet alone';
  return object?.annotations.has('kubernetes.io/config.mirror') === true ? 'a static pod belongs to its kubelet' : null;
}

/** What the eviction API says of a budget, for pods that are evicted one after another. */
function whyBlocked(pod: SchedulerPod, budgets: { readonly budget: Budget; left: number }[]): string | null {
  const own = budgets.filter(
    ({ budget: { namespace, selector, disrupted } }) =>
      namespace === pod.namespace && !disrupted.has(pod.name) && selects(selector, pod.labels),
  );
  if (own.length > 1)
    return `${own.length} budgets match it (${own.map(({ budget }) => budget.name).join(', ')}), and the API refuses to evict such a pod`;
  const [only] = own;
  if (only === undefined) return null;
  only.left -= 1;
  return only.left < 0 ? `the budget ${only.budget.name} allows no further disruption; the drain waits for it` : null;
}

/** Nodes of a cloud that no label names. */
function cloudNotes(how: Leaving, world: World, names: ReadonlySet<string>): readonly Note[] {
  const unknown = how === 'reclaim' ? [...names].filter((name) => cloudOf(nodeObject(world, name)?.labels ?? new Map()) === null) : [];
  if (unknown.length === 0) return [];
  const text = `no label of ${someOf(unknown)} names its cloud: a reclaim counts as a shutdown of the machine, of which the kubelet warns no pod by default`;
  return [{ kind: 'assumed', text }];
}

function notesOf(how: Leaving, leaving: readonly SchedulerPod[], objects: ReadonlyMap<string, KubeObject>): readonly Note[] {
  if (how !== 'drain') return [];
  const bare = leaving.filter(({ controller }) => controller === null);
  const local = leaving.filter(({ key }) =>
    listAt(objects.get(key)?.fields, 'spec', 'volumes').some((volume) => at(volume, 'emptyDir') !== undefined),
  );
  const note = (text: string): Note => ({ kind: 'assumed', text });
  return [
    ...(bare.length === 0
      ? []
      : [
          note(
            `kubectl drain is called with --force: it refuses ${bare.length === 1 ? 'a pod' : `${bare.length} pods`} without a controller otherwise`,
          ),
        ]),
    ...(local.length === 0
      ? []
      : [
          note(
            `kubectl drain is called with --delete-emptydir-data: ${local.length} ${local.length === 1 ? 'pod has' : 'pods have'} an emptyDir`,
          ),
        ]),
  ];
}
