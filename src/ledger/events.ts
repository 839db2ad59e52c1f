import { CAUSES, type Cause } from '../domain/notice.ts';
import { type Field, type Fields, flag, listOf, number, oneOf, orNull, shape, text, type ValuesOf } from './fields.ts';

const step = orNull(number);
const cause: Field<Cause> = { ...oneOf(...(Object.keys(CAUSES) as Cause[])), type: 'a cause' };
const confidence = oneOf('known', 'guess');
const prediction = orNull(shape({ medianMs: number, p95Ms: number }));

/** What is in the ledger, by kind. Fields are only ever added; what a field means stays. */
export const EVENT_KINDS = {
  'attempt-started': {
    run: text,
    gang: text,
    version: text,
    command: listOf(text),
    /** The checkpoint it resumes from; null: from the beginning. */
    resumeStep: step,
    worldSize: orNull(number),
    accelerators: orNull(number),
    cadence: text,
    graceMs: number,
    graceFrom: oneOf('option', 'environment', 'default'),
  },
  'trainer-started': { pid: number, restart: number },
  'sdk-attached': { rank: number, worldSize: number, python: orNull(text), framework: orNull(text) },
  /** Coalesced: at most one in a while, and the last one before anything else. */
  progress: { step: number, stepMs: orNull(number), loss: orNull(number), unsavedMs: orNull(number) },
  'cadence-planned': { everyMs: orNull(number), everySteps: orNull(number), overhead: orNull(number), sentence: text },
  'save-started': {
    save: text,
    step: number,
    reason: oneOf('cadence', 'flush', 'advice', 'request', 'watch', 'finish', 'adopted'),
    predicted: prediction,
  },
  'save-ended': {
    save: text,
    step: number,
    outcome: oneOf('sealed', 'failed', 'abandoned', 'lost'),
    bytes: orNull(number),
    /** From its start to sealed (or to its end), and of that: the trainer stood still; the trainer wrote; behind it, copy, checksums, commit. */
    totalMs: number,
    stallMs: orNull(number),
    writeMs: orNull(number),
    copyMs: orNull(number),
    checksumMs: orNull(number),
    commitMs: orNull(number),
    problem: orNull(text),
  },
  'save-overdue': { save: text, step: number, tookMs: number, limitMs: number, predicted: prediction, sentence: text },
  shipped: { step: number, url: text, bytes: orNull(number), totalMs: orNull(number) },
  'ship-failed': { step: orNull(number), url: text, problem: text },
  fetched: { step: number, url: text, bytes: number, totalMs: number },
  notice: {
    cause,
    noticedMs: number,
    deadlineMs: orNull(number),
    confidence,
    terminating: flag,
    source: oneOf('signal', 'metadata', 'watched-file', 'pressure', 'cluster'),
    detail: orNull(text),
  },
  'notice-withdrawn': { cause, source: text },
  deadline: {
    deadlineMs: number,
    graceMs: number,
    confidence,
    reasons: listOf(shape({ deadlineMs: number, reason: text })),
  },
  decision: {
    outcome: oneOf('flush', 'seal-staged', 'keep-last-good'),
    sentence: text,
    numbers: shape({
      leftMs: number,
      stepRestMs: number,
      agreementMs: number,
      saveMs: number,
      sealMs: number,
      reserveMs: number,
      needMs: number,
      medianMs: number,
      sealStagedMs: orNull(number),
      unsavedMs: number,
      measured: flag,
    }),
  },
  'flush-ended': {
    outcome: oneOf('made', 'missed', 'refused', 'abandoned', 'staged-sealed'),
    step,
    tookMs: number,
    predictedMs: orNull(number),
    /** Time that was left at the end; negative: past the deadline. */
    leftMs: orNull(number),
    sentence: text,
  },
  hang: { quietMs: number, limitMs: orNull(number), sentence: text },
  'trainer-ended': { code: orNull(number), signal: orNull(text), saidFinished: flag },
  'attempt-ended': {
    exitCode: number,
    end: oneOf('finished', 'interrupted', 'failed', 'killed', 'refused'),
    cause: orNull(cause),
    step,
    lastGoodStep: step,
    lostMs: orNull(number),
    lostSteps: orNull(number),
    accelerators: orNull(number),
    sentence: text,
  },
  /** Anything else worth a line, for people. */
  note: { level: oneOf('info', 'warning', 'error'), code: orNull(text), sentence: text },
} as const satisfies Readonly<Record<string, Fields>>;

export type EventKind = keyof typeof EVENT_KINDS;

/** An event as it is written: its kind and the fields of that kind. */
export type LedgerEvent = { readonly [Kind in EventKind]: { readonly kind: Kind } & ValuesOf<(typeof EVENT_KINDS)[Kind]> }[EventKind];
export type EventOf<Kind extends EventKind> = Extract<LedgerEvent, { readonly kind: Kind }>;

/** What another version wrote: kept as it is. */
export interface UnknownEvent {
  readonly kind: 'unknown';
  /** The kind that the line names. */
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Where and when something was recorded. */
export interface Recorded<Event = LedgerEvent | UnknownEvent> {
  readonly attempt: number;
  readonly node: string;
  /** Counts the events of one writer, from 1. */
  readonly seq: number;
  /** Wall clock of the node, milliseconds since 1970. */
  readonly atMs: number;
  readonly event: Event;
}

/** What each kind tells, for the reference. */
export const EVENT_MEANINGS: Readonly<Record<EventKind, string>> = {
  'attempt-started': 'An attempt begins on this node: what is run, where it resumes, how often it saves, and the nominal grace.',
  'trainer-started': 'The trainer’s process was started; `restart` counts restarts in place.',
  'sdk-attached': 'A rank of the trainer speaks to the supervisor.',
  progress: 'How far the trainer is. Written at most every ten seconds, and the newest one before any other event.',
  'cadence-planned': 'How often a save is made from now on, and why.',
  'save-started': 'A save begins, with what was predicted for it.',
  'save-ended': 'A save ended: sealed, failed, given up at a deadline, or lost with its memory; with the time of each phase.',
  'save-overdue':
    'The disk takes many times what was predicted for a save that was handed over, and may not answer any more; told once, and `save-ended` follows if it does.',
  shipped: 'A sealed checkpoint was copied, with proof.',
  'ship-failed': 'A copy did not come about.',
  fetched: 'A copy was brought back at the start, because nothing here was as new.',
  notice: 'The first warning of an interruption, or an advice to save.',
  'notice-withdrawn': 'An advice was taken back.',
  deadline:
    'When the process will be killed, as far as anybody can tell; `reasons` is the chain that leads there, each shorter than the one before.',
  decision: 'What is done with the time that is left, and the numbers it was decided from.',
  'flush-ended':
    'What became of the flush; `tookMs` and `predictedMs` (the median) are of the try that led there: the flush, or the sealing of what was staged.',
  hang: 'The trainer has made no progress for many times its usual step.',
  'trainer-ended': 'The trainer’s process ended, with its own code or signal.',
  'attempt-ended': 'The attempt ended on this node: the exit code and what it means, the last good step, and the work that was lost.',
  note: 'Anything else worth a line.',
};

/** Events that must survive the power going: they are synced at once. Nothing is lost with the others that is not also elsewhere. */
export const SYNCED_KINDS: ReadonlySet<EventKind> = new Set([
  'attempt-started',
  'notice',
  'notice-withdrawn',
  'deadline',
  'decision',
  'flush-ended',
  'hang',
  'trainer-ended',
  'attempt-ended',
]);
