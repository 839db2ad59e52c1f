import { timestamp } from '../../kube/api/timestamp.ts';
import { formatDuration } from '../../core/duration.ts';
import type { EventNote } from '../../kube/control/event-recorder.ts';
import type { Progress, RoomFacts } from '../reconcile/draft.ts';
import { savedSince, savedText } from '../reconcile/give-room.ts';
import { backText } from '../reconcile/give-up-part.ts';
import type { RoomRecord, RunRecord } from '../training-run/record.ts';
import type { MemberPod } from './member-pod.ts';
import type { ObservedJob } from './observed-job.ts';

/** What the next step of a Job depends on that makes room. */
export interface JobRoomFacts {
  readonly nowMs: number;
  readonly job: Pick<ObservedJob, 'isSuspended' | 'isSuspendedForRoom' | 'ended'>;
  readonly pods: readonly Pick<MemberPod, 'phase'>[];
  readonly progress: Progress | null;
  /** Null: it makes no room. */
  readonly room: RoomFacts | null;
}

/** The room as it is next, and what is told about it. */
export interface JobRoomStep {
  readonly room: RoomRecord | null;
  readonly events: readonly EventNote[];
}

/**
 * Takes the next step of a Job that makes room. It is suspended only after its supervisor has
 * saved, and resumed when all of it fits again. Whoever suspends or resumes it meanwhile decides.
 */
export function giveJobRoom(facts: JobRoomFacts, room: RoomRecord | null): JobRoomStep {
  if (room === null || facts.room === null) return { room, events: [] };
  if (facts.job.ended !== null) return { room: { ...room, stage: 'called-off' }, events: [] };
  if (room.stage === 'asked') return whileAsked(facts, room);
  return room.stage === 'leaving' ? whileLeaving(facts, room) : whileAway(facts, room);
}

/**
 * The record with the room as it is next. The phase of a Job that makes room is another one than
 * that of a Job which a person has suspended.
 */
export function withRoom(record: RunRecord, room: RoomRecord | null): RunRecord {
  if (record.phase !== 'Suspended' || (room?.stage !== 'leaving' && room?.stage !== 'away')) return { ...record, room };
  return { ...record, room, phase: 'Waiting', message: `it made room for ${room.pod} on ${room.node}, and waits until all of it fits` };
}

/** Whether the Job is to be suspended now. */
export function isToBeSuspended({ isSuspended, isSuspendedForRoom }: JobRoomFacts['job'], room: RoomRecord | null): boolean {
  return room?.stage === 'leaving' && !isSuspended && !isSuspendedForRoom;
}

/** Whether the operator has suspended the Job, and the room is not needed any more. */
export function isToBeResumed({ isSuspendedForRoom }: JobRoomFacts['job'], room: RoomRecord | null): boolean {
  return isSuspendedForRoom && room?.stage !== 'leaving' && room?.stage !== 'away';
}

function whileAsked(facts: JobRoomFacts, room: RoomRecord): JobRoomStep {
  if (facts.room?.isAwaited !== true) return callOff(room, `${room.pod} does not wait any more: the Job stays`);
  if (facts.job.isSuspended) return callOff(room, SUSPENDED);
  const saved = savedSince(room, facts.progress);
  if (saved !== null) {
    const event: EventNote = { type: 'Normal', reason: 'RoomSaved', message: `${savedText(saved)}; the Job is suspended now` };
    return { room: { ...saved, stage: 'leaving', leftAt: timestamp(facts.nowMs) }, events: [event] };
  }
  if (facts.nowMs < Date.parse(room.deadlineAt)) return { room, events: [] };
  const reason = `no save was seen within ${formatDuration(Date.parse(room.deadlineAt) - Date.parse(room.askedAt))}`;
  return {
    room: { ...room, stage: 'refused', reason },
    events: [{ type: 'Warning', reason: 'RoomRefused', message: `the Job stays: ${reason}` }],
  };
}

const SUSPENDED = 'the Job was suspended by somebody else, who also resumes it';

function whileLeaving(facts: JobRoomFacts, room: RoomRecord): JobRoomStep {
  const { isSuspended, isSuspendedForRoom } = facts.job;
  if (!isSuspendedForRoom && isSuspended) return callOff(room, SUSPENDED);
  if (!isSuspended) {
    if (isSuspendedForRoom) return comeBack(facts, room, 'somebody resumed the Job');
    return facts.room?.isAwaited === true ? { room, events: [] } : callOff(room, `${room.pod} does not wait any more: the Job stays`);
  }
  if (facts.pods.some(({ phase }) => phase !== 'Succeeded' && phase !== 'Failed')) return { room, events: [] };
  const message = `all pods have left; the Job made room for ${room.pod} on ${room.node}, and is resumed when all of it fits`;
  return { room: { ...room, stage: 'away' }, events: [{ type: 'Normal', reason: 'RoomLeft', message }] };
}

function whileAway(facts: JobRoomFacts, room: RoomRecord): JobRoomStep {
  const { isSuspended, isSuspendedForRoom } = facts.job;
  if (!isSuspended) return comeBack(facts, room, 'somebody resumed the Job');
  if (!isSuspendedForRoom) return callOff(room, SUSPENDED);
  return facts.room?.fits === true ? comeBack(facts, room, 'the Job is resumed') : { room, events: [] };
}

function callOff(room: RoomRecord, message: string): JobRoomStep {
  return { room: { ...room, stage: 'called-off', leftAt: null }, events: [{ type: 'Normal', reason: 'RoomCalledOff', message }] };
}

function comeBack(facts: JobRoomFacts, room: RoomRecord, how: string): JobRoomStep {
  const message = `${backText(facts, room)}: ${how}`;
  return { room: { ...room, stage: 'back', backAt: timestamp(facts.nowMs) }, events: [{ type: 'Normal', reason: 'RoomBack', message }] };
}
