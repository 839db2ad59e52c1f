import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt } from '../../core/printable.ts';

const QUEUE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const QUEUE_RULE = 'the name of a queue is 1 to 63 letters, digits, dots, dashes and underscores, and begins with a letter or a digit';
const LONGEST_KEY_BYTES = 512;

/** Reads the name of a queue. */
export function parseQueueName(text: string): Parsed<string> {
  return QUEUE_NAME.test(text) ? parsed(text) : refused(`"${excerpt(text, 70)}" is not the name of a queue: ${QUEUE_RULE}`);
}

/** Reads the key of an item: text without control characters, short enough for a database index. */
export function parseKey(text: string): Parsed<string> {
  if (text === '') return refused('the key is empty');
  if (Buffer.byteLength(text) > LONGEST_KEY_BYTES)
    return refused(`the key "${excerpt(text, 40)}" is longer than ${LONGEST_KEY_BYTES} bytes`);
  // PostgreSQL cannot store a zero byte, and half a surrogate pair is not text.
  if (/[\u0000-\u001f\u007f]/.test(text) || !text.isWellFormed()) return refused(`the key "${excerpt(text, 40)}" holds control characters`);
  return parsed(text);
}
