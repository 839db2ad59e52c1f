import type { TerminationMessage } from '../../domain/exit/termination-message.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import { activeDeadlineMs } from '../../domain/gang/active-deadline.ts';
import { isPastRestarts } from '../../domain/gang/in-place-restarts.ts';
import { expiryMs } from '../../domain/gang/time-to-live.ts';
import { completionMsOf, isFinished, isTrue, type JobStatus, startMsOf } from '../status/job-status.ts';
import { leaderOf, replicaOf } from '../kinds/parse-job.ts';
import { noteLastGood, noteLostWork } from '../training-run/last-words.ts';
import { currentAttempt, type RunRecord, withNextAttempt } from '../training-run/record.ts';
import { adopt, leftAloneUntilMs, tellLeftAlone } from './adoption.ts';
import { type Changes, changesWhenFinished, changesWhenLive, changesWhenSuspended, podsToGiveUp } from './desired.ts';
import { condition, type Draft, type Facts, phase, type Plan, tell } from './draft.ts';
import { closeAttempt, endOf, endWithout, failJob, withFailure } from './end-attempt.ts';
import { asksOf, callOff, changesWhenGivingWay, giveRoom, isGivingWay } from './give-room.ts';
import { handleLateStart, lateStartMs } from './late-start.ts';
import { earliest, roomStepMs } from './look-again.ts';
import { lossesOf } from './loss.ts';
import { lookBack } from './look-back.ts';
import { noteMilestones, noteStart } from './milestones.ts';
import { currentPods } from './places.ts';
import { nextForceMs, noteHeld, tellForced } from './lost-nodes.ts';
import { gangRestartMs, handleLosses, noteScaledDown } from './replace.ts';
import { countReplicas, foldActive } from './replica-counts.ts';
import { noteRunning } from './running.ts';
import { notePlacement } from './spot.ts';
import { hasSucceeded, succeed } from './success.ts';
import { noteOpen, openStepMs } from './silent-nodes.ts';
import { noteStuck, stuckStepMs } from './stuck-pods.ts';
import { noteSupervision } from './supervision.ts';

/**
 * Decides everything that one reconcile does, from what it observed. Reads no clock and writes
 * nothing, so that every case is a row of a test.
 */
export function decide(facts: Facts, before: RunRecord, status: JobStatus): Plan {
  const words = lastWordsOf(facts);
  const known = words.reduce((record, { told }) => noteLastGood(record, told), before);
  const made = choose(facts, known, status);
  return { ...made, record: words.reduce((record, { attempt, told }) => noteLostWork(record, attempt, told), made.record) };
}

/** What supervisors of rank 0 said at their end. */
function lastWordsOf({ job, pods }: Facts): readonly { readonly attempt: number; readonly told: TerminationMessage }[] {
  const role = leaderOf(job)?.role ?? 'Worker';
  return pods.flatMap((pod) =>
    pod.role === role && pod.index === 0 && pod.told !== null ? [{ attempt: pod.attempt, told: pod.told }] : [],
  );
}

function choose(facts: Facts, record: RunRecord, status: JobStatus): Plan {
  const found: Draft = { record, status, events: [], counters: [] };
  const alone = isFinished(status) ? null : leftAloneUntilMs(facts, record);
  if (alone !== null) return plan(tellLeftAlone(facts, found), NOTHING, { isLeftAlone: true, againAtMs: alone });
  const created = noteStart(facts, adopt(facts, found));
  if (isFinished(created.status)) return afterTheEnd(facts, lookBack(facts, created));
  if (facts.job.run.isSuspended) return suspend(facts, callOff(lookBack(facts, noteMilestones(facts, created))));
  const draft = lookBack(facts, noteMilestones(facts, resume(facts, created)));
  if (hasSucceeded(facts, draft)) return end(facts, succeed(facts, draft));
  if (isPastDeadline(facts, draft)) return end(facts, failForDeadline(facts, draft));
  if (isPastRestarts(restartsInPlace(facts, draft), facts.job.run.backoffLimit)) return end(facts, failForRestarts(facts, draft));
  const room = giveRoom(facts, draft);
  if (isGivingWay(room.record)) return giveWay(facts, room, record.message);
  const lost = handleLosses(facts, room);
  const isOver = isFinished(lost.status) || lost.record.attempt !== room.record.attempt;
  const handled = isOver ? lost : handleLateStart(facts, lost);
  if (isFinished(handled.status)) return end(facts, handled);
  const running = handled.record.attempt === room.record.attempt ? noteRunning(facts, handled) : handled;
  const placed = notePlacement(facts, noteSupervision(facts, running));
  return live(facts, noteScaledDown(facts, placed), record.message);
}

/** No change of pods and Services. */
const NOTHING: Changes = { deletePods: [], createPods: [], createServices: [], deleteServices: [] };

function plan(draft: Draft, changes: Changes, more: Partial<Plan> = {}): Plan {
  const nothingElse = { evictPods: [], asks: [], isLeftAlone: false, keepsExtras: true, deletesJob: false, againAtMs: null };
  return { ...draft, ...changes, ...nothingElse, ...more };
}

function live(facts: Facts, draft: Draft, said: string): Plan {
  const { job, pods, nowMs } = facts;
  const status = { ...draft.status, replicaStatuses: countReplicas(job, pods) };
  const { record } = draft;
  const times = [
    roomStepMs(record, nowMs),
    activeDeadlineMs(startMsOf(status), job.run.activeDeadlineSeconds),
    record.notBefore === null ? null : Date.parse(record.notBefore),
    gangRestartMs(facts, record),
    ...record.replacing.map(({ notBefore }) => Date.parse(notBefore)),
    nextForceMs(facts),
    lateStartMs(facts, { ...draft, status }),
    openStepMs(facts, record),
    stuckStepMs(facts, record),
  ].filter((ms) => ms !== null && ms > nowMs);
  const changes = changesWhenLive(facts, record);
  const told = tellForced(facts, noteHeld(facts, noteOpen(facts, noteStuck(facts, { ...draft, status }, said)), said), changes.deletePods);
  const evictPods = podsToGiveUp(facts, record);
  return plan(told, changes, { evictPods, asks: asksOf(facts, record), againAtMs: earliest(times) });
}

/** A gang that leaves to make room, or waits until all of it fits. */
function giveWay(facts: Facts, draft: Draft, said: string): Plan {
  const { job, pods } = facts;
  const status = { ...draft.status, replicaStatuses: countReplicas(job, pods) };
  const changes = changesWhenGivingWay(facts);
  const held = noteHeld(facts, { ...draft, status }, said);
  const againAtMs = earliest([roomStepMs(draft.record, facts.nowMs), nextForceMs(facts)]);
  const told = tellForced(facts, held, changes.deletePods);
  if (draft.record.room?.stage !== 'leaving') return plan(told, changes, { againAtMs });
  return plan(told, { ...changes, deletePods: [] }, { evictPods: changes.deletePods, againAtMs });
}

/** The pass in which the job ends. */
function end(facts: Facts, draft: Draft): Plan {
  const counts = countReplicas(facts.job, facts.pods);
  const replicaStatuses = isTrue(draft.status, 'Succeeded') ? foldActive(counts) : counts;
  return afterTheEnd(facts, { ...draft, status: { ...draft.status, replicaStatuses } });
}

/** A finished job: its pods are cleaned up, and it is deleted when its time to live is over. */
function afterTheEnd(facts: Facts, draft: Draft): Plan {
  const { run } = facts.job;
  const kept = recordEnd(facts, draft);
  const endedMs = Date.parse(kept.record.endedAt ?? '');
  const completedMs = completionMsOf(kept.status) ?? (Number.isNaN(endedMs) ? null : endedMs);
  const atMs = expiryMs({ completedMs, seconds: run.ttlSeconds, isSuspended: run.isSuspended });
  const deletesJob = atMs !== null && atMs <= facts.nowMs;
  const changes = changesWhenFinished(facts, kept.record);
  const againAtMs = deletesJob ? null : earliest([atMs, nextForceMs(facts)]);
  return plan(tellForced(facts, kept, changes.deletePods), changes, { deletesJob, againAtMs });
}

/** Ends the attempt with the grace of its pods. The job is active until the last one has ended. */
function suspend(facts: Facts, draft: Draft): Plan {
  const { job } = facts;
  const { kind } = job.kind.resource;
  const message = `${kind} ${job.name} is suspended.`;
  const isNew = !isTrue(draft.status, 'Suspended');
  const stopped = isTrue(draft.status, 'Running')
    ? condition(facts, draft, { type: 'Running', isTrue: false, word: 'Suspended', message })
    : draft;
  const told = isNew ? tell(stopped, 'Normal', `${kind}Suspended`, message) : stopped;
  const marked = condition(facts, told, { type: 'Suspended', message });
  const record = currentPods(job, marked.record, facts.pods).size === 0 ? marked.record : nextAfterSuspension(facts, marked.record);
  const counted = countReplicas(job, facts.pods);
  const wasNeverStarted = facts.pods.length === 0 && Object.keys(marked.status.replicaStatuses).length === 0;
  const replicaStatuses = wasNeverStarted ? {} : counted;
  const status = { ...marked.status, replicaStatuses };
  const changes = changesWhenSuspended(facts);
  const ended = noteHeld(facts, phase({ ...marked, status, record }, 'Suspended', message), draft.record.message);
  return plan(tellForced(facts, ended, changes.deletePods), changes, { keepsExtras: false, againAtMs: nextForceMs(facts) });
}

/** A suspension costs nothing; the next attempt starts when the job is resumed. */
function nextAfterSuspension(facts: Facts, record: RunRecord): RunRecord {
  const closed = closeAttempt(facts, record, endWithout(facts, record, 'JOB_SUSPENDED'));
  const budgets = { ...closed.budgets, interruptions: closed.budgets.interruptions + 1 };
  return withNextAttempt({ ...closed, budgets }, null);
}

function resume(facts: Facts, draft: Draft): Draft {
  if (!isTrue(draft.status, 'Suspended')) return draft;
  const { job, nowMs } = facts;
  const { kind } = job.kind.resource;
  const message = `${kind} ${job.name} is resumed.`;
  const told = tell(draft, 'Normal', `${kind}Resumed`, message);
  const marked = condition(facts, told, { type: 'Suspended', isTrue: false, word: 'Resumed', message });
  const started = { ...marked, status: { ...marked.status, startTime: timestamp(nowMs) } };
  return phase(started, 'Starting', `attempt ${currentAttempt(draft.record).number} starts after a suspension`);
}

function isPastDeadline({ job, nowMs }: Facts, { status }: Draft): boolean {
  const atMs = activeDeadlineMs(startMsOf(status), job.run.activeDeadlineSeconds);
  return atMs !== null && nowMs >= atMs;
}

function failForDeadline(facts: Facts, draft: Draft): Draft {
  const message = `Job ${facts.job.name} has failed because it was active longer than specified deadline`;
  const record = closeAttempt(facts, draft.record, endWithout(facts, draft.record, 'JOB_DEADLINE'));
  return failJob(facts, { ...draft, record }, { message });
}

/**
 * How often kubelets restarted containers in this attempt, over the running pods that may be
 * restarted. Those of the attempt before go, and what they did is settled.
 */
function restartsInPlace({ job, pods }: Facts, { record }: Draft): number {
  const own = pods.filter(({ attempt }) => attempt === record.attempt);
  const counted = own.filter(({ phase: name, role }) => name === 'Running' && replicaOf(job, role)?.policy !== 'Never');
  return counted.reduce((sum, { restarts }) => sum + restarts, 0);
}

function failForRestarts(facts: Facts, draft: Draft): Draft {
  const message = `Job ${facts.job.name} has failed because it has reached the specified backoff limit`;
  const record = closeAttempt(facts, draft.record, endWithout(facts, draft.record, 'TRAINER_FAILED'));
  return failJob(facts, { ...draft, record }, { message });
}

/**
 * The record of a job that has ended. The operator may have been killed between the two writes of
 * the end: then the lost pod is still there to be recorded.
 */
function recordEnd(facts: Facts, draft: Draft): Draft {
  if (draft.record.endedAt !== null) return draft;
  const { record: kept } = callOff(draft);
  const name = isTrue(draft.status, 'Failed') ? 'Failed' : 'Succeeded';
  const [loss] = name === 'Failed' ? lossesOf(facts, draft.record) : [];
  const cause = name === 'Failed' ? 'CANNOT_TELL' : 'FINISHED';
  const failed = loss === undefined ? kept : withFailure(facts, kept, loss);
  const closed = closeAttempt(facts, failed, loss === undefined ? endWithout(facts, failed, cause) : endOf(facts, failed, loss));
  const endedAt = draft.status.completionTime ?? timestamp(facts.nowMs);
  return phase({ ...draft, record: { ...closed, endedAt, notBefore: null } }, name, `the job has ${name.toLowerCase()}`);
}
