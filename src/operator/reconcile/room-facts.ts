import { keyFromText } from '../../kube/api/api-object.ts';
import { PODS } from '../../kube/api/resources.ts';
import { textAt } from '../../kube/objects/fields.ts';
import { objectOf } from '../../kube/objects/object.ts';
import { podDefaultsOf } from '../../scheduler/objects/cluster-input.ts';
import { type SchedulerPod, schedulerPodOf } from '../../scheduler/objects/pod.ts';
import { scheduleAll } from '../../scheduler/schedule-all.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import { podFor } from '../kinds/pod.ts';
import { planOf } from '../kinds/room-plan.ts';
import { isMakingRoom, type RoomRecord, type RunRecord } from '../training-run/record.ts';
import type { RoomFacts } from './draft.ts';
import { avoidedBy, placesOf } from './places.ts';
import { schedulerView } from './scheduler-view.ts';
import type { OperatorWorld } from './world.ts';

/**
 * What the making of room depends on; null: the run makes none. `pods` are those that left, as they
 * would be created again.
 */
export async function readRoom(
  world: OperatorWorld,
  record: Pick<RunRecord, 'room'>,
  pods: () => readonly SchedulerPod[],
  signal: AbortSignal,
): Promise<RoomFacts | null> {
  const { room } = record;
  if (room === null || !isMakingRoom(record)) return null;
  const isAwaited = await isPodWaiting(world, room, signal);
  return { isAwaited, fits: room.stage === 'away' && !isAwaited && fitsNow(world, pods(), room) };
}

/** The pods that a job lacks: those that left to make room, and those that restart meanwhile. */
export function podsOfJob({ settings, stores, clock }: OperatorWorld, job: TrainingJob, record: RunRecord): readonly SchedulerPod[] {
  const choice = {
    attempt: record.attempt,
    isInGang: true,
    group: null,
    avoided: avoidedBy({ nowMs: clock.now() }, record),
    machines: null,
    settings,
  };
  const defaults = podDefaultsOf([], job.namespace);
  return placesOf(job).flatMap((place) => {
    const object = objectOf(podFor(job, place, choice));
    const isThere = object === null || stores.pods.get({ namespace: job.namespace, name: object.name }) !== null;
    return isThere ? [] : [schedulerPodOf(object, defaults)];
  });
}

/**
 * Asks the API server itself, because the watch of pods may not show the plan yet. A
 * pod that cannot be read may still wait.
 */
async function isPodWaiting({ api }: OperatorWorld, { pod, podUid, askedAt }: RoomRecord, signal: AbortSignal): Promise<boolean> {
  const found = await api.get(PODS, keyFromText(pod), { signal });
  if (!found.ok) return found.kind !== 'notFound';
  const { uid, deletionTimestamp } = found.value.metadata;
  const isBound = textAt(found.value, 'spec', 'nodeName') !== null;
  return uid === podUid && deletionTimestamp === undefined && !isBound && planOf(found.value)?.askedAt === askedAt;
}

/**
 * Whether each of these pods finds a node, after all pods that wait now and are no less important.
 * The pod that they left for has had its chance.
 */
function fitsNow({ stores }: OperatorWorld, pods: readonly SchedulerPod[], { priority, pod: inVain }: RoomRecord): boolean {
  const cluster = schedulerView(stores, []);
  const own = pods.map((pod) => ({ ...pod, priority }));
  const keys = new Set(own.map(({ key }) => key));
  const isAhead = ({ key, priority: its }: SchedulerPod): boolean => its >= priority && !keys.has(key) && key !== inVain;
  const ahead = cluster.waiting.filter(isAhead);
  const { steps } = scheduleAll(cluster, [...ahead, ...own], { evicts: false });
  return steps.every(({ placement: { pod, node } }) => node !== null || !keys.has(pod.key));
}
