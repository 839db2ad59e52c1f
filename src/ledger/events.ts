import { CAUSES, type Cause } from '../domain/grace/notice.ts';
import { type Field, type Fields, flag, listOf, number, oneOf, orNull, shape, text, type ValuesOf } from './field-types.ts';

const step = orNull(number);
const cause: Field<Cause> = { ...oneOf(...(Object.keys(CAUSES) as Cause[])), type: 'a cause' };
const confidence = oneOf('known', 'guess');
const prediction = orNull(shape({ medianMs: number, p95Ms: number }));

/**
 * The fields of each kind of event. New fields may be added; the meaning of a field never changes.
 */
export const EVENT_KINDS = {
  'attempt-started': {
    run: text,
    gang: text,
    version: text,
    command: listOf(text),
    /** The step of the checkpoint it resumes from; null: it starts from scratch. */
    resumeStep: step,
    worldSize: orNull(number),
    accelerators: orNull(number),
    cadence: text,
    graceMs: number,
    graceFrom: oneOf('option', 'environment', 'default'),
  },
  /** Recorded after the start of each attempt of a run that a CronJob started. */
  scheduled: { scheduledMs: number },
  /** Recorded after the start of each attempt of a trial of a sweep. */
  trial: { index: number, count: number, name: text, parameters: listOf(shape({ name: text, value: text })) },
  'trainer-started': { pid: number, restart: number },
  'sdk-attached': { rank: number, worldSize: number, python: orNull(text), framework: orNull(text) },
  /** Coalesced: at most one in ten seconds, and the newest one before any other event. */
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
    /**
     * The total time from the start of the save to its seal, or to its end. The others are parts of
     * it: the trainer's stall, its writing, then the supervisor's copy, checksums and commit.
     */
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
    /** The time left at the end; negative: past the deadline. */
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
  /** Any other message for people. */
  note: { level: oneOf('info', 'warning', 'error'), code: orNull(text), sentence: text },
} as const satisfies Readonly<Record<string, Fields>>;

/** The name of a kind of event. */
export type EventKind = keyof typeof EVENT_KINDS;

/** An event as it is written: its kind and the fields of that kind. */
export type LedgerEvent = { readonly [Kind in EventKind]: { readonly kind: Kind } & ValuesOf<(typeof EVENT_KINDS)[Kind]> }[EventKind];
/** An event of one kind. */
export type EventOf<Kind extends EventKind> = Extract<LedgerEvent, { readonly kind: Kind }>;

/** An event of a kind that this version does not know, kept as written. */
export interface UnknownEvent {
  readonly kind: 'unknown';
  /** The kind as written in the line. */
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** An event with the attempt, node and time it was recorded at. */
export interface Recorded<Event = LedgerEvent | UnknownEvent> {
  readonly attempt: number;
  readonly node: string;
  /** Counts the events of one writer, from 1. */
  readonly seq: number;
  /** Wall clock of the node, milliseconds since 1970. */
  readonly atMs: number;
  readonly event: Event;
}

/** The meaning of each kind, for the reference. */
export const EVENT_MEANINGS: Readonly<Record<EventKind, string>> = {
  'attempt-started':
    'An attempt starts on this node: the command, the checkpoint it resumes from, how often it saves, and the nominal grace.',
  scheduled: 'The time that a CronJob was to start this run at. The first attempt fixes it.',
  trial: 'The run is one trial of a sweep, with these parameters. `index` counts from 0.',
  'trainer-started': 'The trainer’s process was started; `restart` counts the restarts by this supervisor.',
  'sdk-attached': 'A rank of the trainer has attached to the supervisor.',
  progress: 'The progress of the trainer. It is written at most every ten seconds; the newest one is also written before any other event.',
  'cadence-planned': 'How often Holdfast saves from now on, and why.',
  'save-started': 'A save starts, with its predicted duration.',
  'save-ended':
    'A save ended, with the time of each phase. It was sealed, failed, abandoned at a deadline, or lost together with the memory that held it.',
  'save-overdue':
    'The disk takes many times the predicted time for a save, and may have stopped responding. Recorded once per save; `save-ended` follows if the disk responds.',
  shipped: 'A sealed checkpoint was copied, with proof.',
  'ship-failed': 'A copy failed.',
  fetched: 'A copy was fetched at the start, because it was newer than every local checkpoint.',
  notice: 'The first warning of an interruption, or advice to save.',
  'notice-withdrawn': 'Advice to save was withdrawn.',
  deadline:
    'The expected time at which the process is killed. `reasons` is the chain of limits behind it; each is shorter than the one before.',
  decision: 'How Holdfast uses the time that is left, and the numbers behind the decision.',
  'flush-ended':
    'The result of the flush. `tookMs` and `predictedMs` (the median) measure the step that produced it: the flush itself, or the seal of a staged save.',
  hang: 'The trainer has made no progress for many times the duration of its usual step.',
  'trainer-ended': 'The trainer’s process ended, with its own code or signal.',
  'attempt-ended': 'The attempt ended on this node: the exit code and its meaning, the last good step, and the lost work.',
  note: 'Any other message.',
};

/**
 * Events that are synced at once, so that they survive a power loss. The other events repeat facts
 * that are also stored elsewhere.
 */
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
