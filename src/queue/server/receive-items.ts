import { parseKey } from '../../domain/queue/names.ts';
import type { NewItem, QueueBackend } from '../backend.ts';
import { type Fields, jsonField, parseJsonObject, textField } from './fields.ts';
import type { TextLine } from '../text-lines.ts';
import { RequestError } from './request-error.ts';

/** A line that was not taken, and why. */
export interface RefusedLine {
  readonly line: number;
  readonly key: string | null;
  readonly reason: string;
}

/** What became of all lines. */
export interface PushSummary {
  readonly added: number;
  /** In the queue already, with this value. */
  readonly present: number;
  readonly refusedCount: number;
  /** The first thousand. */
  readonly refused: readonly RefusedLine[];
}

/** Items are pushed in transactions of this many, or of this many characters. */
const MOST_ITEMS = 2000;
const MOST_LENGTH = 4_000_000;
const MOST_NAMED = 1000;
const LOWEST_PRIORITY = -1_000_000;
const HIGHEST_PRIORITY = 1_000_000;

/**
 * Pushes the items of a body, one per line. A line that is wrong is named and keeps no other from
 * being pushed.
 */
export async function receiveItems(backend: QueueBackend, queue: string, { lines, itemLength }: ItemLines): Promise<PushSummary> {
  const summary = { added: 0, present: 0, refusedCount: 0, refused: [] as RefusedLine[] };
  const refuse = (refused: RefusedLine): void => {
    summary.refusedCount += 1;
    if (summary.refused.length < MOST_NAMED) summary.refused.push(refused);
  };
  let batch: { readonly line: number; readonly item: NewItem }[] = [];
  let length = 0;
  const flush = async (): Promise<void> => {
    const taken = batch;
    [batch, length] = [[], 0];
    const pushed = await backend.push(
      queue,
      taken.map(({ item }) => item),
    );
    for (const [i, { line, item }] of taken.entries()) {
      if (pushed[i] === 'added') summary.added += 1;
      else if (pushed[i] === 'present') summary.present += 1;
      else refuse({ line, key: item.key, reason: 'the key is in the queue with another value' });
    }
  };
  for await (const { number: line, text } of lines) {
    if (text?.trim() === '') continue;
    const read = text === null ? `the line has more than ${itemLength} characters` : readItem(text, itemLength);
    if (typeof read === 'string') refuse({ line, key: null, reason: read });
    else {
      batch.push({ line, item: read });
      length += read.value.length;
    }
    if (batch.length >= MOST_ITEMS || length >= MOST_LENGTH) await flush();
  }
  // Also of no items: the queue is there from now on.
  await flush();
  return summary;
}

interface ItemLines {
  readonly lines: AsyncIterable<TextLine>;
  readonly itemLength: number;
}

/** The item of a line, or the reason why it is none. */
function readItem(text: string, itemLength: number): NewItem | string {
  try {
    const fields: Fields = parseJsonObject(text);
    const key = parseKey(textField(fields, 'key', 10_000));
    if (!key.ok) return key.reason;
    const priority = fields['priority'] ?? 0;
    if (typeof priority !== 'number' || !Number.isSafeInteger(priority) || priority < LOWEST_PRIORITY || priority > HIGHEST_PRIORITY) {
      return `"priority" is not a whole number from ${LOWEST_PRIORITY} to ${HIGHEST_PRIORITY}`;
    }
    return { key: key.value, value: jsonField(fields, 'value', itemLength), priority };
  } catch (thrown) {
    if (thrown instanceof RequestError) return thrown.message.replace('the body', 'the line');
    throw thrown;
  }
}
