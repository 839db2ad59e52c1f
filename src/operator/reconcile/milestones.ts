import { timestamp } from '../../kube/api/timestamp.ts';
import { noteProgress } from '../../domain/gang/budgets.ts';
import { startMsOf } from '../status/job-status.ts';
import { type AttemptRecord, currentAttempt, type ProgressRecord, type RunRecord, withAttempt } from '../training-run/record.ts';
import { choiceProblems } from '../kinds/choices.ts';
import { condition, type Draft, type Facts, type Progress, tell } from './draft.ts';
import type { ObservedPod } from './observed-pod.ts';
import { currentPods, keyAt, olderPods, placesGivenUp, wantedPlaces } from './places.ts';

/** A report that changes nothing but steps is written at most this often. */
const REPORT_EVERY_MS = 30_000;

/** Notes that the job exists and has started, as v1 does on its first pass. */
export function noteStart(facts: Facts, draft: Draft): Draft {
  const { job, nowMs } = facts;
  const isNew = !draft.status.conditions.some(({ type }) => type === 'Created');
  const message = `${job.kind.resource.kind} ${job.name} is created.`;
  const created = isNew
    ? condition(facts, tellProblems(facts, { ...draft, counters: [...draft.counters, 'created'] }), { type: 'Created', message })
    : draft;
  if (job.run.isSuspended || startMsOf(created.status) !== null) return created;
  return { ...created, status: { ...created.status, startTime: timestamp(nowMs) } };
}

/** Tells of annotations that mean nothing. */
function tellProblems({ job }: Facts, draft: Draft): Draft {
  return choiceProblems(job.annotations).reduce((told, problem) => tell(told, 'Warning', 'InvalidAnnotation', problem), draft);
}

/** Notes what is to be seen of the current attempt, and that the one before it is gone. */
export function noteMilestones(facts: Facts, draft: Draft): Draft {
  return { ...draft, record: noteTornDown(facts, noteAttempt(facts, noteReport(facts, draft.record))) };
}

function noteAttempt(facts: Facts, record: RunRecord): RunRecord {
  const { job } = facts;
  const standing = currentPods(job, record, facts.pods);
  const pods = [...standing.values()];
  if (pods.length === 0) return record;
  const now = timestamp(facts.nowMs);
  const isWhole = wantedPlaces(job, record).every((place) => standing.has(keyAt(place)));
  const before = currentAttempt(record);
  const first = (name: TimeOfAttempt, isReached: boolean): string | null => before[name] ?? (isReached ? now : null);
  const change: Pick<AttemptRecord, TimeOfAttempt> = {
    createdAt: first('createdAt', true),
    scheduledAt: first('scheduledAt', isWhole && pods.every(({ node }) => node !== null)),
    startedAt: first('startedAt', isWhole && pods.every((pod) => pod.phase !== 'Pending')),
    resumedAt: first('resumedAt', typeof facts.progress?.step === 'number'),
  };
  const seen = seenBy(facts, record, pods);
  return withAttempt({ ...record, seen, firstCreatedAt: record.firstCreatedAt ?? now }, record.attempt, change);
}

type TimeOfAttempt = 'createdAt' | 'scheduledAt' | 'startedAt' | 'resumedAt';

/** How many of the first indexes of each role have been there, now or before. */
function seenBy({ job }: Facts, record: RunRecord, pods: readonly ObservedPod[]): RunRecord['seen'] {
  const counts = job.replicas.map(({ role, count }) => {
    const own = pods.filter((pod) => pod.role === role && !record.scaledDown.includes(pod.uid));
    const givenUp = placesGivenUp(job, record).filter(({ replica }) => replica.role === role);
    const indexes = new Set([...own, ...givenUp].map(({ index }) => index));
    const missing = Array.from({ length: count }, (_, index) => index).find((index) => !indexes.has(index)) ?? count;
    return [role, Math.max(missing, Math.min(count, record.seen[role] ?? 0))] as const;
  });
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function noteTornDown(facts: Facts, record: RunRecord): RunRecord {
  if (olderPods(record, facts.pods).length > 0) return record;
  const attempts = record.attempts.map((each) =>
    each.number < record.attempt && each.tornDownAt === null ? { ...each, tornDownAt: timestamp(facts.nowMs) } : each,
  );
  return { ...record, attempts };
}

/** Takes over what rank 0 reports: a new step or a new last good step, now and then. */
export function noteReport({ progress, nowMs }: Pick<Facts, 'progress' | 'nowMs'>, record: RunRecord): RunRecord {
  if (progress === null) return record;
  const before = record.progress;
  const isSaved = progress.lastGoodStep !== null && progress.lastGoodStep !== before.lastGoodStep;
  const isMoved = progress.step !== null && progress.step !== before.step;
  if (!isReportDue(record, isSaved, nowMs) || (!isSaved && !isMoved)) return record;
  const report: ProgressRecord = {
    ...before,
    ...known(before, progress),
    ...(isSaved ? savedBy(progress) : {}),
    ...(isMoved ? { steppedAt: timestamp(progress.readMs) } : {}),
    reportedAt: timestamp(nowMs),
  };
  return { ...record, progress: report, budgets: noteProgress(record.budgets, report.lastGoodStep) };
}

/** The save that a gang was asked for, to make room, counts at once. */
function isReportDue({ progress, room }: RunRecord, isSaved: boolean, nowMs: number): boolean {
  const { reportedAt } = progress;
  return reportedAt === null || nowMs - Date.parse(reportedAt) >= REPORT_EVERY_MS || (isSaved && room?.stage === 'asked');
}

type Known = Pick<ProgressRecord, 'step' | 'accelerators' | 'loss' | 'trial' | 'unsavedAcceleratorSeconds' | 'saveSeconds'>;

/** What a report leaves out is still what the one before said; but unsaved work grows unseen. */
function known(before: ProgressRecord, now: Progress): Known {
  const { step, accelerators, loss, trial, unsavedAcceleratorSeconds, saveSeconds } = now;
  return {
    unsavedAcceleratorSeconds,
    saveSeconds: saveSeconds ?? before.saveSeconds,
    step: step ?? before.step,
    accelerators: accelerators ?? before.accelerators,
    loss: loss ?? before.loss,
    trial: trial ?? before.trial,
  };
}

function savedBy({ lastGoodStep, lastGoodAgeMs, readMs }: Progress): Pick<ProgressRecord, 'lastGoodStep' | 'sealedAt'> {
  return { lastGoodStep, sealedAt: timestamp(readMs - (lastGoodAgeMs ?? 0)) };
}
