import { at, numberAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import type { SchedulerPod } from '../../scheduler/objects/pod.ts';
import { acceleratorsOf, drawNodes, type NodeDrawing } from '../drawing/draw-nodes.ts';
import { podKey } from '../gangs/gang.ts';
import type { Cost } from '../loss/cost.ts';
import { nodesFor, type Shape, shapesOf } from '../loss/fragmentation.ts';
import { type StoppedGang, stoppedGangs } from '../loss/stopped-gangs.ts';
import type { Note } from '../world/note.ts';
import type { World } from '../world/world.ts';
import { alternativesTo } from './alternatives/alternatives.ts';
import type { Alternative, Asked } from './alternatives/alternative.ts';
import { podsOfManifests, type Wish } from './manifest-pods.ts';
import { gangsOf } from '../world/gangs-of.ts';
import { type Play, play } from './play.ts';
import { type PossibleSet, possibleSets } from './possible-sets.ts';
import { templatePath } from './template-path.ts';

/** Where one new pod goes. */
export interface PodAnswer {
  readonly pod: SchedulerPod;
  /** Null: nowhere. */
  readonly node: string | null;
  /** It waits for its victims to end. */
  readonly evicts: boolean;
  /** All nodes that the scheduler may take at random; one where there is no tie. */
  readonly tied: readonly string[];
  /** The words of its FailedScheduling event; null if it is placed at once. */
  readonly message: string | null;
}

/** A pod that leaves. */
export interface EvictedPod {
  readonly pod: SchedulerPod;
  readonly node: string;
  readonly graceSeconds: number;
  readonly by: string;
}

/** Requests of the cluster that fit fewer nodes than before. */
export interface LostShape extends Shape {
  readonly nodesBefore: number;
  readonly nodesAfter: number;
}

/** The answer to `whatif apply`. */
export interface ApplyAnswer {
  readonly pods: readonly PodAnswer[];
  readonly evicted: readonly EvictedPod[];
  readonly gangs: readonly StoppedGang[];
  readonly cost: Cost;
  readonly violations: number;
  /** Accelerators that the new pods need, that evictions free, and that gang members hold idle. */
  readonly accelerators: { readonly needed: number; readonly freed: number; readonly idle: number };
  readonly possible: readonly PossibleSet[];
  /** The scheduler looks at a random part of the nodes where an eviction would help. */
  readonly isSampled: boolean;
  readonly shapes: readonly LostShape[];
  readonly alternatives: readonly Alternative[];
  readonly drawing: readonly NodeDrawing[];
  readonly notes: readonly Note[];
  readonly play: Play;
}

/** Works out what applying manifests would do, and what would lose less. */
export function answerApply(world: World, manifests: readonly KubeObject[], wish: Wish): ApplyAnswer {
  const { outcome, asked } = outcomeOfApply(world, manifests, wish);
  return { ...outcome, alternatives: alternativesTo(asked) };
}

/** Works out what applying manifests would do, and all that a search for something better needs. */
export function outcomeOfApply(
  world: World,
  manifests: readonly KubeObject[],
  wish: Wish,
): { readonly outcome: Omit<ApplyAnswer, 'alternatives'>; readonly asked: Asked } {
  const { pods, makers, groups, notes } = podsOfManifests(manifests, world, wish);
  const cluster = groups.length === 0 ? world.before : world.cluster(groups);
  const main = play(world, cluster, pods);
  const gangs = stoppedGangs(world, main.victims, main.after);
  const shapes = shapesOf([...world.input.pods]);
  const sets = possibleSets(world, cluster, pods, main);
  const outcome = {
    pods: main.steps.map(({ placement, chosen, message }) => ({
      pod: placement.pod,
      node: main.nodes.get(placement.pod.key) ?? null,
      evicts: chosen !== null,
      tied: placement.tied,
      message,
    })),
    evicted: evictedPods(world, main),
    gangs,
    cost: main.cost,
    violations: main.violations,
    accelerators: {
      needed: sumOf(pods),
      freed: sumOf(main.victims),
      idle: gangs.reduce((sum, { loss }) => sum + loss.accelerators, 0) - sumOf(main.victims),
    },
    possible: sets.possible,
    isSampled: sets.isSampled,
    shapes: lostShapes(shapes, (shape) => [nodesFor(shape, cluster), nodesFor(shape, main.after)]),
    drawing: drawNodes({
      before: cluster,
      after: main.after,
      leaving: new Set(main.victims.map(({ key }) => key)),
      stopped: new Set(main.stopped.flatMap((gang) => gang.pods.map(podKey))),
      coming: new Set(pods.map(({ key }) => key)),
    }),
    notes: [...notes, ...groupNotes(main), ...sets.notes, ...world.notes],
    play: main,
  };
  return { outcome, asked: { world, cluster, pods, makers, main, template: templatePath(makers[0]?.object.kind ?? '') } };
}

/** For a PodGroup the scheduler chooses nodes as if nothing less important were there. */
function groupNotes({ steps }: Play): readonly Note[] {
  const names = steps.flatMap(({ placement: { pod }, preemption, chosen }) =>
    chosen !== null && preemption === null ? [`${pod.namespace}/${pod.group}`] : [],
  );
  return [...new Set(names)].map((name) => ({
    kind: 'assumed',
    text: `the PodGroup ${name} takes the first of equal nodes; the scheduler takes any of them, and may evict other pods`,
  }));
}

function evictedPods(world: World, { steps, victims }: Play): readonly EvictedPod[] {
  const objects = new Map(
    gangsOf(
      world,
      victims.map(({ key }) => key),
    ).flatMap(({ pods }) => pods.map((pod) => [podKey(pod), pod])),
  );
  const by = new Map<string, string>();
  for (const { placement, chosen } of steps) for (const { key } of chosen?.victims ?? []) if (!by.has(key)) by.set(key, placement.pod.name);
  return victims.map((pod) => ({
    pod,
    node: pod.nodeName ?? '',
    graceSeconds: numberAt(at(objects.get(pod.key)?.fields, 'spec'), 'terminationGracePeriodSeconds') ?? DEFAULT_GRACE,
    by: by.get(pod.key) ?? '',
  }));
}

const DEFAULT_GRACE = 30;

function lostShapes(shapes: readonly Shape[], count: (shape: Shape) => readonly [before: number, after: number]): readonly LostShape[] {
  return shapes.flatMap((shape) => {
    const [nodesBefore, nodesAfter] = count(shape);
    return nodesAfter < nodesBefore ? [{ ...shape, nodesBefore, nodesAfter }] : [];
  });
}

function sumOf(pods: readonly SchedulerPod[]): number {
  return pods.reduce((sum, { requests }) => sum + acceleratorsOf(requests.all), 0);
}
