import type { Trial } from '../../domain/sweep/grid.ts';
import type { Deadline } from '../../domain/grace/effective-grace.ts';
import type { HangVerdict } from '../../domain/hang/hang.ts';
import type { SealVerdict } from '../../domain/hang/overdue-seal.ts';
import { CAUSES, firstTerminating, type Notice } from '../../domain/grace/notice.ts';
import type { Prediction, PredictionError } from '../../domain/grace/prediction.ts';
import type { LastSave, Totals } from './totals.ts';

/**
 * The schema named in every answer. A field may be added under the same number; a meaning never
 * changes. Documented in docs/reference/status.md.
 */
const STATUS_SCHEMA = 'holdfast.status/1';

/** The part of the current trainer session that a status reports. */
export interface LiveFacts {
  readonly pid: number;
  readonly ranks: number;
  readonly worldSize: number | null;
  readonly step: number | null;
  readonly stepMs: number | null;
  readonly stepsPerSecond: number | null;
  readonly lastGoodStep: number | null;
  readonly lastGoodAgeMs: number | null;
  /** Null: unknown. */
  readonly unsavedMs: number | null;
  readonly unsavedSteps: number | null;
  readonly savePhase: string;
  readonly savesOnRequest: boolean;
  /** The save that waits for the disk; null: none does. */
  readonly seal: SealVerdict | null;
  /**
   * The time a flush would take: until the step ends, to write, to seal. Null when one of them was
   * never measured, or cannot be predicted.
   */
  readonly flush: readonly [Prediction | null, Prediction | null, Prediction | null];
  readonly predictions: PredictionError;
  readonly hang: HangVerdict | null;
}

/** The facts that a status is made from. */
export interface StatusFacts {
  readonly run: string;
  readonly node: string;
  readonly version: string;
  readonly nowMs: number;
  readonly attempt: number | null;
  readonly totals: Totals;
  readonly notices: readonly Notice[];
  readonly deadline: Deadline | null;
  /** Null between two trainer sessions. */
  readonly live: LiveFacts | null;
  /** The reason why the start waits; null: it does not. */
  readonly waiting?: { readonly sentence: string; readonly sinceMs: number } | null;
  /** The trial of a sweep that the run is; null: it is in none. */
  readonly trial?: Trial | null;
  /** When a CronJob was to start the run; null: none did. */
  readonly scheduledAtMs?: number | null;
}

/** The status of a run, as served in JSON. */
export type Status = ReturnType<typeof makeStatus>;

/** Makes the status of a live run. Times are seconds; unknown values are null. */
export function makeStatus(facts: StatusFacts) {
  const { run, node, version, nowMs, attempt, totals, notices, deadline, live, waiting = null, trial = null, scheduledAtMs = null } = facts;
  const ending = firstTerminating(notices);
  return {
    schema: STATUS_SCHEMA,
    at: new Date(nowMs).toISOString(),
    run,
    node,
    version,
    attempt,
    state: ending !== null ? 'ending' : live === null ? 'starting' : 'training',
    waiting: waiting === null ? null : { sentence: waiting.sentence, since: new Date(waiting.sinceMs).toISOString() },
    restarts: Math.max(0, totals.attempts - 1),
    trial,
    scheduledAt: scheduledAtMs === null ? null : new Date(scheduledAtMs).toISOString(),
    loss: totals.loss,
    ...(live === null ? NOT_LIVE : liveParts(live)),
    saves: savesOf(totals, live),
    notice: ending === null ? null : { ...told(ending), ...timeLeft(deadline, nowMs) },
    advice: notices.filter(({ terminating }) => !terminating).map(told),
  };
}

const NOT_LIVE = { trainer: null, progress: null, lastGood: null, unsaved: null, flush: null, hang: null };

function liveParts(live: LiveFacts) {
  const { pid, ranks, worldSize, lastGoodStep, lastGoodAgeMs, hang } = live;
  return {
    trainer: { pid, ranks, worldSize },
    progress: progressOf(live),
    lastGood: lastGoodStep === null ? null : { step: lastGoodStep, ageSeconds: seconds(lastGoodAgeMs) },
    unsaved: unsavedOf(live),
    flush: flushOf(live),
    hang: hang === null ? null : hangOf(hang),
  };
}

function timeLeft(deadline: Deadline | null, nowMs: number) {
  if (deadline === null) return { deadline: null, secondsLeft: null, confidence: 'guess' as const };
  const { deadlineMs, confidence } = deadline;
  return { deadline: new Date(deadlineMs).toISOString(), secondsLeft: seconds(deadlineMs - nowMs), confidence };
}

function progressOf({ step, stepsPerSecond, stepMs }: LiveFacts) {
  return { step, stepsPerSecond, usualStepSeconds: seconds(stepMs) };
}

/** The work that a crash would lose now. Every rank counts as one accelerator. */
function unsavedOf({ unsavedMs, unsavedSteps, worldSize }: LiveFacts) {
  if (unsavedMs === null) return null;
  const accelerators = worldSize ?? 1;
  return {
    steps: unsavedSteps,
    seconds: unsavedMs / 1000,
    accelerators,
    acceleratorSeconds: (unsavedMs / 1000) * accelerators,
  };
}

function savesOf({ saves, lastSave, sealedMs, writeMs, stallMs, sealedBytes }: Totals, live: LiveFacts | null) {
  return {
    phase: live?.savePhase ?? 'idle',
    onRequest: live?.savesOnRequest ?? null,
    sealing: live === null || live.seal === null ? null : sealingOf(live.seal),
    outcomes: saves,
    seconds: sealedMs / 1000,
    writeSeconds: writeMs / 1000,
    stallSeconds: stallMs / 1000,
    bytes: sealedBytes,
    predictions: live?.predictions ?? null,
    last: lastSave === null ? null : lastOf(lastSave),
  };
}

function lastOf({ step, bytes, totalMs, writeMs, stallMs }: LastSave) {
  return { step, bytes, seconds: totalMs / 1000, writeSeconds: seconds(writeMs), stallSeconds: seconds(stallMs) };
}

function sealingOf({ step, isOverdue, tookMs, limitMs, sentence }: SealVerdict) {
  return { step, isOverdue, seconds: tookMs / 1000, limitSeconds: limitMs / 1000, sentence };
}

function flushOf({ flush: [rest, write, seal] }: LiveFacts) {
  if (write === null || seal === null) return null;
  const sum = (pick: (prediction: Prediction) => number): number => ((rest === null ? 0 : pick(rest)) + pick(write) + pick(seal)) / 1000;
  return { medianSeconds: sum(({ medianMs }) => medianMs), p95Seconds: sum(({ p95Ms }) => p95Ms) };
}

function hangOf({ isHung, quietMs, limitMs, sentence }: HangVerdict) {
  return { isHung, quietSeconds: quietMs / 1000, limitSeconds: seconds(limitMs), sentence };
}

function told({ cause, atMs, source, detail }: Notice) {
  return { cause, label: CAUSES[cause].label, at: new Date(atMs).toISOString(), source, detail };
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}
