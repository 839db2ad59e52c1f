import { formatDuration } from '../../core/duration.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import type { Replacement, RoomRecord, RunRecord } from '../training-run/record.ts';
import { type Draft, type Facts, tell } from './draft.ts';
import { currentPods, placesGivenUp, placesOf } from './places.ts';

/**
 * Whether enough workers run without the pods that an elastic gang gives up. A gang that leaves
 * whole always can.
 */
export function canSpare(facts: Facts, record: RunRecord, { pods: leaving }: RoomRecord): boolean {
  if (leaving === null) return true;
  const { job } = facts;
  const running = [...currentPods(job, record, facts.pods).values()].filter(
    ({ role, isTerminating, end }) => role === 'Worker' && !isTerminating && end.class === 'running',
  );
  const rest = running.filter(({ name }) => !leaving.includes(name));
  return job.elastic !== null && running.length - rest.length === leaving.length && rest.length >= job.elastic.min;
}

/** The pods that an elastic gang gave up have left; the others train on in the same attempt. */
export function gaveUp(facts: Facts, draft: Draft, room: RoomRecord): Draft {
  const { record } = draft;
  if (facts.pods.some(({ name }) => room.pods?.includes(name) === true)) return draft;
  const budgets = { ...record.budgets, interruptions: record.budgets.interruptions + 1 };
  const next = { ...draft, record: { ...record, budgets, room: { ...room, stage: 'away' as const } } };
  const names = room.pods?.join(', ') ?? '';
  return tell(next, 'Normal', 'RoomLeft', `${names} left to make room for ${room.pod} on ${room.node}; the other replicas train on`);
}

/**
 * The pods are created again when they fit, or when the job does not have enough workers without
 * them.
 */
export function comeBack(facts: Facts, draft: Draft, room: RoomRecord): Draft {
  const { job, nowMs } = facts;
  const places = placesGivenUp(job, draft.record);
  const workers = placesOf(job).filter(({ replica }) => replica.role === 'Worker').length;
  const isNeeded = workers - places.length < (job.elastic?.min ?? workers);
  if (facts.room?.fits !== true && !isNeeded) return draft;
  const now = timestamp(nowMs);
  // They join as replaced pods do: a gang that makes no step with them restarts.
  const joining = places.map(({ replica, index }): Replacement => ({ role: replica.role, index, uid: null, lostAt: now, notBefore: now }));
  const replacing = [...draft.record.replacing, ...joining];
  const told = tell(draft, 'Normal', 'RoomBack', `${backText(facts, room)}: ${room.pods?.join(', ') ?? ''} is created again`);
  return { ...told, record: { ...told.record, replacing, room: { ...room, stage: 'back', backAt: now } } };
}

/** `back after 9m`. */
export function backText({ nowMs }: Pick<Facts, 'nowMs'>, { leftAt, askedAt }: RoomRecord): string {
  return `back after ${formatDuration(nowMs - Date.parse(leftAt ?? askedAt))}`;
}
