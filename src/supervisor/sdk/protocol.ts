import { constants } from 'node:os';
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts';
import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt } from '../../core/printable.ts';

/**
 * The protocol that both sides speak; documented in docs/reference/sdk-protocol.md. A field may be
 * added under the same number; a meaning never changes.
 */
export const PROTOCOL = 'holdfast.sdk/1';
/** The longest line either side may send. */
export const MAX_LINE_BYTES = 64 * 1024;
/** The parser refuses a world larger than this. */
const MAX_WORLD = 1_000_000;
const MAX_METRICS = 32;
const MAX_TEXT = 500;

/** The metrics that a rank reports with a step. */
export type Metrics = Readonly<Record<string, number>>;

/** A message from a rank. */
export type FromRank =
  | { readonly type: 'hello'; readonly rank: number; readonly world: number; readonly pid: number; readonly dumpSignal: number | null }
  | { readonly type: 'step'; readonly step: number; readonly metrics: Metrics }
  /** `linked`: the files that are written are links to the memory that the rank has reserved. */
  | { readonly type: 'begin'; readonly step: number; readonly linked: boolean }
  /**
   * `stallMs`: how long the trainer stood still for a save written in the background; null: until
   * now. `waitedMs`: how long the rank had the folder and waited for other ranks to have theirs.
   * `betweenMs`: how long the rank had the folder before it began to save.
   */
  | {
      readonly type: 'saved';
      readonly save: string;
      readonly stallMs: number | null;
      readonly waitedMs: number;
      readonly betweenMs: number;
    }
  /** Asks for memory for a file that is kept from save to save; 0 gives it back. */
  | { readonly type: 'reserve'; readonly bytes: number }
  | { readonly type: 'failed'; readonly save: string; readonly reason: string }
  /**
   * Asks whether this rank can resume from a step, when each node has a run of its own with other
   * checkpoints. `agreed`: all ranks can.
   */
  | { readonly type: 'take'; readonly step: number; readonly agreed: boolean }
  | { readonly type: 'late'; readonly at: number; readonly step: number }
  /**
   * All ranks save at the step that they agree on, this long after one of them is asked; null: they
   * can no longer agree.
   */
  | { readonly type: 'agrees'; readonly withinMs: number | null }
  | { readonly type: 'busy'; readonly what: string | null }
  | { readonly type: 'finish' }
  /** A message of a later version; the supervisor ignores it. */
  | { readonly type: 'unknown'; readonly name: string };

/** The checkpoint that a rank resumes from. */
export interface ResumeFrom {
  readonly path: string;
  readonly step: number;
  readonly save: string;
}

/** Why the supervisor asks for a save. */
export type SaveReason = 'cadence' | 'notice' | 'asked';

/** A message from the supervisor. */
export type ToRank =
  | {
      readonly type: 'welcome';
      readonly protocol: typeof PROTOCOL;
      readonly run: string;
      readonly attempt: number;
      readonly resume: ResumeFrom | null;
      /** For several ranks: the steps of the newest sealed checkpoints, the newest first. */
      readonly steps: readonly number[];
      /** A save is due at every multiple of this; null: the supervisor asks for each save. */
      readonly everySteps: number | null;
      /** The rank can reserve memory. */
      readonly reserves: boolean;
      /**
       * A file of eight bytes for the rank's newest step, which the rank maps into its memory;
       * null: there is none.
       */
      readonly counter: string | null;
    }
  /** A save is due: at step `at` exactly, or at the next step when `at` is null. */
  | { readonly type: 'save'; readonly why: SaveReason; readonly at: number | null }
  /** Withdraws the request for a save. */
  | { readonly type: 'relax' }
  /**
   * `mark`: a file that the rank makes when all is written, so that the save counts even if the
   * supervisor misses the message; null: none. `names`: a file for the names of this rank's files,
   * made before the save; null: the rank has the folder to itself.
   */
  | {
      readonly type: 'folder';
      readonly step: number;
      readonly save: string;
      readonly path: string;
      readonly mark: string | null;
      readonly names: string | null;
    }
  | { readonly type: 'refused'; readonly step: number; readonly code: string; readonly reason: string }
  /** The answer to `reserve`: a folder in memory; null: there is none, and why. */
  | { readonly type: 'reserved'; readonly path: string | null; readonly reason: string | null }
  /** The answer to `take`; null: the rank cannot resume from this step, and why. */
  | { readonly type: 'taken'; readonly step: number; readonly resume: ResumeFrom | null; readonly reason: string | null }
  | { readonly type: 'sealed'; readonly save: string; readonly step: number; readonly path: string }
  | { readonly type: 'lost'; readonly save: string; readonly reason: string }
  | { readonly type: 'bye' };

/** One line of the protocol, with its newline. */
export function formatMessage(message: ToRank): string {
  return `${JSON.stringify(message)}\n`;
}

/** Reads one line of a rank; the reason of a refusal continues "the message …". */
export function parseMessage(line: string): Parsed<FromRank> {
  const json = parseJson(line);
  if (!json.ok || !isObject(json.value)) return refused('is not a JSON object');
  const { type } = json.value;
  if (typeof type !== 'string') return refused('has no type');
  const read = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  return read === undefined ? parsed({ type: 'unknown', name: excerpt(type, 40) }) : read(json.value);
}

const READERS: Readonly<Record<string, (message: JsonObject) => Parsed<FromRank>>> = {
  hello: readHello,
  step: ({ step, metrics }) => (isCount(step) ? parsed({ type: 'step', step, metrics: readMetrics(metrics) }) : noStep()),
  begin: ({ step, linked }) => (isCount(step) ? parsed({ type: 'begin', step, linked: linked === true }) : noStep()),
  saved: ({ save, stallMs, waitedMs, betweenMs }) =>
    isShort(save)
      ? parsed({ type: 'saved', save, stallMs: isSpan(stallMs) ? stallMs : null, waitedMs: spanOf(waitedMs), betweenMs: spanOf(betweenMs) })
      : noSave(),
  failed: ({ save, reason }) =>
    isShort(save) ? parsed({ type: 'failed', save, reason: readText(reason) ?? 'no reason given' }) : noSave(),
  reserve: ({ bytes }) => (isCount(bytes) ? parsed({ type: 'reserve', bytes }) : refused('has no bytes that are a whole number from 0')),
  take: ({ step, agreed }) => (isCount(step) ? parsed({ type: 'take', step, agreed: agreed === true }) : noStep()),
  late: ({ at, step }) => (isCount(step) && isCount(at) ? parsed({ type: 'late', at, step }) : noStep()),
  agrees: ({ withinMs }) => parsed({ type: 'agrees', withinMs: isSpan(withinMs) ? withinMs : null }),
  busy: ({ what }) => parsed({ type: 'busy', what: readText(what) }),
  finish: () => parsed({ type: 'finish' }),
};

function readHello({ protocol, rank, world, pid, dumpSignal }: JsonObject): Parsed<FromRank> {
  if (protocol !== PROTOCOL) return refused(`speaks ${excerpt(JSON.stringify(protocol) ?? 'no protocol', 40)}, not ${PROTOCOL}`);
  if (!isCount(world) || world < 1 || world > MAX_WORLD) return refused('names no world size');
  if (!isCount(rank) || rank >= world) return refused(`names no rank below the world size ${world}`);
  return parsed({ type: 'hello', rank, world, pid: isCount(pid) ? pid : 0, dumpSignal: isOurSignal(dumpSignal) ? dumpSignal : null });
}

/**
 * Signals that a process may use for itself: SIGUSR1, SIGUSR2, and the real-time signals of Linux.
 */
function isOurSignal(value: Json | undefined): value is number {
  if (!isCount(value)) return false;
  return (
    value === constants.signals.SIGUSR1 || value === constants.signals.SIGUSR2 || (process.platform === 'linux' && value > 33 && value < 65)
  );
}

/** Keeps finite numbers only: a loss may be NaN, which JSON cannot hold. */
function readMetrics(value: Json | undefined): Metrics {
  if (!isObject(value)) return {};
  const numbers = Object.entries(value).flatMap(([name, number]) =>
    typeof number === 'number' && Number.isFinite(number) ? [[excerpt(name, 60), number] as const] : [],
  );
  return Object.fromEntries(numbers.slice(0, MAX_METRICS));
}

function readText(value: Json | undefined): string | null {
  return typeof value === 'string' && value !== '' ? excerpt(value, MAX_TEXT) : null;
}

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isSpan(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function spanOf(value: Json | undefined): number {
  return isSpan(value) ? value : 0;
}

function isShort(value: Json | undefined): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 200;
}

function noStep(): Parsed<never> {
  return refused('has no step that is a whole number from 0');
}

function noSave(): Parsed<never> {
  return refused('names no save');
}
