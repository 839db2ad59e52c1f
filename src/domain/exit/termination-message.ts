import { type Parsed, parsed, refused } from '../../core/parsed.ts';

const SCHEMA = 'holdfast.end/1';
/** The number of bytes that the kubelet keeps of a termination message. */
export const MESSAGE_BYTES = 4096;

/**
 * The final report of an attempt, in its container's termination message. Times are milliseconds,
 * instants since 1970.
 */
export interface TerminationMessage {
  /** True for the message written at the notice, as a safeguard; the final message replaces it. */
  readonly provisional: boolean;
  /** Null when the attempt ended before either was known. */
  readonly run: string | null;
  readonly attempt: number | null;
  readonly node: string;
  readonly atMs: number;
  /** The cause of the notice, or null when the trainer ended by itself. */
  readonly cause: string | null;
  readonly deadlineMs: number | null;
  /** The exit code of the run and its meaning; null while provisional. */
  readonly exitCode: number | null;
  readonly end: string | null;
  /** The trainer's own code or signal; null while it runs, and when none was started. */
  readonly trainer: { readonly code: number } | { readonly signal: string } | null;
  readonly step: number | null;
  readonly lastGoodStep: number | null;
  readonly flush: 'made' | 'missed' | 'refused' | 'abandoned' | 'staged-sealed' | 'none' | null;
  readonly lostMs: number | null;
  readonly lostSteps: number | null;
  readonly accelerators: number | null;
  /** One sentence for the operator. */
  readonly sentence: string;
}

/**
 * Longest text of each field; together they cannot fill the message even when every character is
 * escaped.
 */
const MOST_CHARACTERS = { run: 120, node: 120, cause: 40, end: 40, sentence: 400 } as const;

/**
 * The message as JSON of at most {@link MESSAGE_BYTES} bytes. Cuts long texts at the end and marks
 * the cut.
 */
export function renderTerminationMessage(message: TerminationMessage): string {
  for (const share of [1, 0.5, 0.2]) {
    const text = `${JSON.stringify({ schema: SCHEMA, ...cutTexts(message, share) })}\n`;
    if (Buffer.byteLength(text) <= MESSAGE_BYTES) return text;
  }
  throw new RangeError('a termination message of cut texts fits');
}

function cutTexts(message: TerminationMessage, share: number): TerminationMessage {
  const cut = (text: string, most: number): string => {
    const clean = text.toWellFormed();
    const length = Math.floor(most * share);
    return clean.length <= length ? clean : `${clean.slice(0, length - 1).toWellFormed()}…`;
  };
  return {
    ...message,
    run: message.run === null ? null : cut(message.run, MOST_CHARACTERS.run),
    node: cut(message.node, MOST_CHARACTERS.node),
    cause: message.cause === null ? null : cut(message.cause, MOST_CHARACTERS.cause),
    end: message.end === null ? null : cut(message.end, MOST_CHARACTERS.end),
    sentence: cut(message.sentence, MOST_CHARACTERS.sentence),
  };
}

/**
 * Reads the message of a container. The text is untrusted: another program may have written it, or
 * only half of it.
 */
export function parseTerminationMessage(text: string): Parsed<TerminationMessage> {
  if (text.length > MESSAGE_BYTES) return refused('it is longer than a termination message can be');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refused('it is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refused('it is not a JSON object');
  const fields = value as Readonly<Record<string, unknown>>;
  if (fields['schema'] !== SCHEMA) return refused(`it is not of ${SCHEMA}`);
  for (const [name, isRight] of Object.entries(FIELDS)) {
    if (!isRight(fields[name])) return refused(`its field ${name} has a wrong value`);
  }
  return parsed(Object.fromEntries(Object.keys(FIELDS).map((name) => [name, fields[name]])) as unknown as TerminationMessage);
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

const FIELDS: Readonly<Record<keyof TerminationMessage, Check>> = {
  provisional: (value) => typeof value === 'boolean',
  run: orNull(isText),
  attempt: orNull(isNumber),
  node: isText,
  atMs: isNumber,
  cause: orNull(isText),
  deadlineMs: orNull(isNumber),
  exitCode: orNull(isNumber),
  end: orNull(isText),
  trainer: orNull(isTrainer),
  step: orNull(isNumber),
  lastGoodStep: orNull(isNumber),
  flush: orNull((value) => ['made', 'missed', 'refused', 'abandoned', 'staged-sealed', 'none'].includes(value as string)),
  lostMs: orNull(isNumber),
  lostSteps: orNull(isNumber),
  accelerators: orNull(isNumber),
  sentence: isText,
};

function isTrainer(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return ('code' in value && isNumber(value.code)) || ('signal' in value && isText(value.signal));
}
