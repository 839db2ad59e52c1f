import { formatDuration } from '../../core/duration.ts';
import { type ApiObject, keyFromText, keyOf } from '../../kube/api/api-object.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import type { Failure, Outcome } from '../../kube/api/outcome.ts';
import { BUDGETS, NAMESPACES, PODS } from '../../kube/api/resources.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { EventNote } from '../../kube/control/event-recorder.ts';
import type { Reconciled } from '../../kube/control/controller.ts';
import { numberAt } from '../../kube/objects/fields.ts';
import { objectOf } from '../../kube/objects/object.ts';
import type { Cluster } from '../../scheduler/cluster/cluster.ts';
import { podDefaultsOf } from '../../scheduler/objects/cluster-input.ts';
import { schedulerPodOf } from '../../scheduler/objects/pod.ts';
import { ROOM_ANNOTATIONS } from '../kinds/annotations.ts';
import { schedulerView } from '../reconcile/scheduler-view.ts';
import { ASKS_FOR_ROOM, type OperatorWorld, ROOM_INDEX } from '../reconcile/world.ts';
import { announcedNode } from './autoscaler.ts';
import { chooseRoom, type Leaving } from './choose.ts';
import { followPlan } from './follow-plan.ts';
import { type CostedLeaver, findLeavers } from './leavers.ts';
import { deadlineMsOf, isUnschedulable, planOf, type RoomPlan } from '../kinds/room-plan.ts';

/** How soon a pod is looked at again whose room is being made, and one for which there is none. */
const STEP_MS = 1000;
const NONE_MS = 10_000;
const PAGE = 500;

interface Signalled {
  readonly signal: AbortSignal;
}

/**
 * One look at all pods that ask for room, the most important first. One turn of the work queue does
 * it for all of them, so that no two decisions are made at the same time.
 */
export async function makeRoom(world: OperatorWorld, { signal }: Signalled): Promise<Reconciled> {
  const asking = world.stores.pods.by(ROOM_INDEX, ASKS_FOR_ROOM).filter(isUnschedulable).toSorted(byImportance);
  forget(world, asking);
  const waits: number[] = [];
  for (const pod of asking) {
    const plan = planOf(pod);
    const outcome = plan === null ? await choose(world, pod, signal) : await followPlan(world, pod, plan, signal);
    if (!outcome.ok) return outcome.kind === 'conflict' ? { kind: 'behind' } : { kind: 'retry', reason: outcome.message };
    waits.push(outcome.value);
  }
  return waits.length === 0 ? { kind: 'settled' } : { kind: 'again', afterMs: Math.min(...waits) };
}

function byImportance(one: ApiObject, other: ApiObject): number {
  const [first, second] = [one, other].map((pod) => numberAt(pod, 'spec', 'priority') ?? 0);
  return (second ?? 0) - (first ?? 0) || Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp);
}

/** Drops what is remembered of pods that no longer ask, and of plans that the watch shows. */
function forget({ room }: OperatorWorld, asking: readonly ApiObject[]): void {
  const uids = new Set(asking.map(({ metadata }) => metadata.uid));
  for (const uid of room.said.keys()) if (!uids.has(uid)) room.said.delete(uid);
  for (const uid of room.plans.keys()) if (!uids.has(uid)) room.plans.delete(uid);
  for (const pod of asking) if (planOf(pod) !== null) room.plans.delete(pod.metadata.uid);
}

/** Says something about a pod that asks, unless it was the last that was said. */
function say({ room, voice }: OperatorWorld, pod: ApiObject, note: EventNote): void {
  if (room.said.get(pod.metadata.uid) === note.message) return;
  room.said.set(pod.metadata.uid, note.message);
  voice.event(pod, note);
}

type Wait = Outcome<number>;
const inMs = (value: number): Wait => ({ ok: true, value });

/** Decides which gangs leave for a pod, and writes the plan down. */
async function choose(world: OperatorWorld, pod: ApiObject, signal: AbortSignal): Promise<Wait> {
  if (world.room.plans.has(pod.metadata.uid)) return inMs(STEP_MS);
  if (!world.room.seesAll) {
    say(world, pod, {
      type: 'Warning',
      reason: 'NoRoomToMake',
      message: 'the operator watches one namespace only, so that it cannot tell what fits where',
    });
    return inMs(NONE_MS);
  }
  const announced = await announcedNode(world, pod, signal);
  if (!announced.ok) return announced;
  if (announced.value !== null) {
    say(world, pod, {
      type: 'Normal',
      reason: 'RoomComesByItself',
      message: `no gang leaves, because an autoscaler has announced a node: ${announced.value}`,
    });
    return inMs(NONE_MS);
  }
  const beside = await readBeside(world, signal);
  if (!beside.ok) return beside;
  const deadlineMs = deadlineMsOf(pod, world.room.deadlineMs);
  return decide(world, pod, {
    cluster: schedulerView(world.stores, beside.value),
    leavers: findLeavers(world, pod.metadata.uid, deadlineMs),
    deadlineMs,
    signal,
  });
}

interface Known {
  readonly cluster: Cluster;
  readonly leavers: readonly CostedLeaver[];
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

async function decide(world: OperatorWorld, object: ApiObject, { cluster, leavers, deadlineMs, signal }: Known): Promise<Wait> {
  const read = objectOf(object);
  if (read === null) return inMs(NONE_MS);
  const asking = schedulerPodOf(read, podDefaultsOf([]));
  let candidates = leavers;
  for (;;) {
    const choice = chooseRoom(cluster, asking, candidates, busyNodes(world));
    if (choice.kind === 'fits') return inMs(NONE_MS);
    if (choice.kind === 'none') {
      say(world, object, { type: 'Normal', reason: 'NoRoomToMake', message: `no room can be made now: ${choice.reason}` });
      return inMs(NONE_MS);
    }
    const refused = await firstRefused(world, choice.leaving, signal);
    if (!refused.ok) return refused;
    if (refused.value === null) {
      if (!asking.neverPreempts) say(world, object, { type: 'Warning', reason: 'MayEvictFirst', message: MAY_EVICT });
      return writePlan(world, object, { node: choice.node, leaving: choice.leaving, deadlineMs, signal });
    }
    candidates = candidates.filter((each) => each !== refused.value);
  }
}

const MAY_EVICT =
  'its PriorityClass lacks preemptionPolicy: Never, so that the scheduler may evict pods before they have saved; a class with Never waits for the room';

/** The nodes on which room is being made for any pod. */
function busyNodes({ stores, room }: OperatorWorld): ReadonlySet<string> {
  const planned = stores.pods.by(ROOM_INDEX, ASKS_FOR_ROOM).filter(isUnschedulable);
  return new Set([...planned.flatMap((pod) => planOf(pod)?.node ?? []), ...room.plans.values()]);
}

/** The first gang of which the API server would not evict a pod; null: it would evict all. */
async function firstRefused(
  world: OperatorWorld,
  leaving: readonly Leaving<CostedLeaver>[],
  signal: AbortSignal,
): Promise<Outcome<CostedLeaver | null>> {
  for (const { leaver, pods } of leaving) {
    for (const text of pods) {
      const key = keyFromText(text);
      const pod = world.stores.pods.get(key);
      if (pod === null) continue;
      const outcome = await world.api.evict(key, { uid: pod.metadata.uid, isDryRun: true, signal });
      if (outcome.ok || outcome.kind === 'notFound') continue;
      if (outcome.kind === 'tooManyRequests' || outcome.status === 500) return { ok: true, value: leaver };
      return outcome;
    }
  }
  return { ok: true, value: null };
}

interface Chosen {
  readonly node: string;
  readonly leaving: readonly Leaving<CostedLeaver>[];
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** The plan counts once it is written: whatever follows can be done again. */
async function writePlan(world: OperatorWorld, pod: ApiObject, { node, leaving, deadlineMs, signal }: Chosen): Promise<Wait> {
  const nowMs = world.clock.now();
  const plan: RoomPlan = {
    node,
    runs: leaving.map(({ leaver }) => leaver.run),
    parts: Object.fromEntries(leaving.flatMap((each) => (each.isWhole ? [] : [[each.leaver.run, namesOf(each)]]))),
    askedAt: timestamp(nowMs),
    deadlineAt: timestamp(nowMs + deadlineMs),
  };
  const { resourceVersion, uid } = pod.metadata;
  const metadata = { resourceVersion, annotations: { [ROOM_ANNOTATIONS.plan]: JSON.stringify(plan) } };
  const written = await world.api.patch(PODS, keyOf(pod), { metadata }, { signal });
  if (!written.ok) return written;
  world.room.plans.set(uid, node);
  say(world, pod, {
    type: 'Normal',
    reason: 'MakingRoom',
    message: `${leaving.map((each) => leavingText(each, node)).join('; ')}: ${waitText(
      leaving.map(({ leaver }) => leaver),
      deadlineMs,
    )}`,
  });
  return followPlan(world, written.value, plan, signal);
}

/** The names of pods of one namespace. */
function namesOf({ pods }: Leaving): readonly string[] {
  return pods.map((text) => keyFromText(text).name);
}

function leavingText(leaving: Leaving, node: string): string {
  const { title } = leaving.leaver;
  return leaving.isWhole ? `${title} saves and leaves ${node}` : `${title} saves and gives up ${namesOf(leaving).join(', ')} on ${node}`;
}

/** How long the pod waits at most, as far as that was measured. */
function waitText(chosen: readonly CostedLeaver[], deadlineMs: number): string {
  const saves = chosen.map(({ measured }) => measured.saveSeconds);
  const known = saves.filter((seconds) => seconds !== null);
  const save = known.length < saves.length ? deadlineMs / 1000 : Math.min(deadlineMs / 1000, Math.max(...known));
  const why = known.length < saves.length ? 'the deadline, because no save of it was measured' : 'the P95 of its save';
  const down = Math.max(...chosen.map(({ measured, graceSeconds }) => measured.teardownSeconds ?? graceSeconds));
  const text = (seconds: number): string => formatDuration(Math.ceil(seconds) * 1000);
  return `the room comes within ${text(save + down)}, ${text(save)} (${why}) and ${text(down)} of teardown`;
}

/** The objects that the watches leave out: budgets for disruptions, and namespaces. */
async function readBeside(world: OperatorWorld, signal: AbortSignal): Promise<Outcome<readonly ApiObject[]>> {
  const found: ApiObject[] = [];
  for (const resource of [BUDGETS, NAMESPACES]) {
    const failure = await readAll(world, resource, found, signal);
    if (failure !== null) return failure;
  }
  return { ok: true, value: found };
}

async function readAll({ api }: OperatorWorld, resource: Resource, found: ApiObject[], signal: AbortSignal): Promise<Failure | null> {
  let continueAt: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof api.list>> = await api.list(resource, { namespace: null, limit: PAGE, continueAt }, { signal });
    if (!page.ok) return page;
    found.push(...page.value.items);
    ({ continueAt } = page.value);
  } while (continueAt !== null);
  return null;
}
