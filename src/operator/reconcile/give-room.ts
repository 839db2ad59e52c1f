import { formatDuration } from '../../core/duration.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import { isMakingRoom, type RoomRecord, type RunRecord, withNextAttempt } from '../training-run/record.ts';
import { changesWhenSuspended, type Changes } from './desired.ts';
import { condition, type Draft, type Facts, phase, type PodAsk, type Progress, tell } from './draft.ts';
import { closeAttempt, endWithout } from './end-attempt.ts';
import { backText, canSpare, comeBack, gaveUp } from './give-up-part.ts';
import type { ObservedPod } from './observed-pod.ts';
import { currentPods, olderPods, placesOf } from './places.ts';

/** Takes the next step of a gang that makes room for a pod. */
export function giveRoom(facts: Facts, draft: Draft): Draft {
  const { room } = draft.record;
  if (room === null || facts.room === null) return draft;
  if (room.stage === 'asked') return whileAsked(facts, draft, room);
  if (room.stage === 'leaving') return whileLeaving(facts, draft, room);
  return room.stage === 'away' ? whileAway(facts, draft, room) : draft;
}

/** Whether all pods of the gang go, or are gone, to make room: none is created. */
export function isGivingWay({ room }: RunRecord): boolean {
  return room !== null && room.pods === null && (room.stage === 'leaving' || room.stage === 'away');
}

/** The pods to evict; nothing of the gang stays until it comes back. */
export function changesWhenGivingWay(facts: Facts): Changes {
  return changesWhenSuspended(facts);
}

/** The pods whose notice is not what the record wants. */
export function asksOf(facts: Facts, record: RunRecord): readonly PodAsk[] {
  return asksAmong(
    facts.pods.filter((pod) => pod.attempt === record.attempt),
    record.room,
  );
}

/** Of these pods those whose notice is not what the making of room wants. */
export function asksAmong(
  pods: readonly Pick<ObservedPod, 'name' | 'isAsked' | 'isTerminating'>[],
  room: RoomRecord | null,
): readonly PodAsk[] {
  const isAsked = room?.stage === 'asked';
  if (room?.stage === 'leaving') return [];
  return pods.filter((pod) => !pod.isTerminating && pod.isAsked !== isAsked).map(({ name }) => ({ name, isAsked }));
}

/** Ends the making of room of a run that ends, or that a person suspends. */
export function callOff({ record, ...draft }: Draft): Draft {
  const { room } = record;
  if (room === null || !isMakingRoom(record)) return { ...draft, record };
  return { ...draft, record: { ...record, room: { ...room, stage: 'called-off' } } };
}

function whileAsked(facts: Facts, draft: Draft, room: RoomRecord): Draft {
  const { nowMs, progress } = facts;
  if (facts.room?.isAwaited !== true) return stay(draft, room);
  if (!canSpare(facts, draft.record, room)) return refuse(draft, room);
  const askedMs = Date.parse(room.askedAt);
  const saved = savedSince(room, progress);
  if (saved !== null) return leave(facts, tell(draft, 'Normal', 'RoomSaved', `${savedText(saved)}; leaves now`), saved);
  if (nowMs < Date.parse(room.deadlineAt)) return draft;
  const message = `no save was seen within ${formatDuration(Date.parse(room.deadlineAt) - askedMs)}; leaves with the grace of its pods`;
  return leave(facts, tell(draft, 'Warning', 'RoomDeadline', message), room);
}

/** The record with the save of a state after the question; null: none was reported. */
export function savedSince(room: RoomRecord, progress: Progress | null): RoomRecord | null {
  if (progress === null || progress.lastGoodAgeMs === null) return null;
  const { readMs, lastGoodAgeMs, lastGoodStep } = progress;
  if (readMs - lastGoodAgeMs < Date.parse(room.askedAt)) return null;
  return { ...room, savedAt: timestamp(readMs), savedStep: lastGoodStep };
}

/** `saved at step 400 in 3s`. */
export function savedText({ askedAt, savedAt, savedStep }: RoomRecord): string {
  const step = savedStep === null ? '' : ` at step ${savedStep}`;
  return `saved${step} in ${formatDuration(Date.parse(savedAt ?? askedAt) - Date.parse(askedAt))}`;
}

function leave({ nowMs }: Facts, draft: Draft, room: RoomRecord): Draft {
  return { ...draft, record: { ...draft.record, room: { ...room, stage: 'leaving', leftAt: timestamp(nowMs) } } };
}

/** The pod found other room, or is gone, and no pod of the gang has been evicted. */
function stay(draft: Draft, room: RoomRecord): Draft {
  const told = tell(draft, 'Normal', 'RoomCalledOff', `${room.pod} does not wait any more: the gang stays`);
  return { ...told, record: { ...told.record, room: { ...room, stage: 'called-off', leftAt: null } } };
}

/** The gang has lost other replicas since it was asked. */
function refuse(draft: Draft, room: RoomRecord): Draft {
  const reason = 'it has no replica to spare any more';
  const told = tell(draft, 'Warning', 'RoomRefused', `the gang stays: ${reason}`);
  return { ...told, record: { ...told.record, room: { ...room, stage: 'refused', leftAt: null, reason } } };
}

function whileLeaving(facts: Facts, draft: Draft, room: RoomRecord): Draft {
  const { job } = facts;
  const current = [...currentPods(job, draft.record, facts.pods).values()];
  const pods = current.filter(({ name }) => room.pods?.includes(name) ?? true);
  const isWhole =
    pods.length === (room.pods ?? placesOf(job)).length &&
    pods.every(({ isTerminating, end }) => !isTerminating && end.class === 'running');
  if (isWhole && facts.room?.isAwaited !== true) return stay(draft, room);
  if (room.pods !== null) return gaveUp(facts, draft, room);
  if (pods.length > 0 || olderPods(draft.record, facts.pods).length > 0) return draft;
  const leftMs = Date.parse(room.leftAt ?? room.askedAt);
  const closed = closeAttempt(
    { ...facts, nowMs: leftMs },
    draft.record,
    endWithout({ ...facts, nowMs: leftMs }, draft.record, 'API_EVICTION'),
  );
  const budgets = { ...closed.budgets, interruptions: closed.budgets.interruptions + 1 };
  const record: RunRecord = { ...withNextAttempt({ ...closed, budgets }, null), room: { ...room, stage: 'away' } };
  const message = `it made room for ${room.pod} on ${room.node}, and waits until all of it fits`;
  const told = tell({ ...draft, record }, 'Normal', 'RoomLeft', `all pods have left; ${message}`);
  return phase(condition(facts, told, { type: 'Restarting', message }), 'Waiting', message);
}

function whileAway(facts: Facts, draft: Draft, room: RoomRecord): Draft {
  if (room.pods !== null) return comeBack(facts, draft, room);
  if (facts.room?.fits !== true) return draft;
  const message = `${backText(facts, room)}: attempt ${draft.record.attempt} starts`;
  const told = tell(draft, 'Normal', 'RoomBack', message);
  const backAt = timestamp(facts.nowMs);
  return phase({ ...told, record: { ...told.record, room: { ...room, stage: 'back', backAt } } }, 'Starting', message);
}
