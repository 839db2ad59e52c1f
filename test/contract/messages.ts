import { MAX_LINE_BYTES, parseMessage, PROTOCOL, type ToRank } from '../../src/supervisor/sdk/protocol.ts';
import { MESSAGE_BYTES } from '../../src/domain/exit/termination-message.ts';
import type { Tree } from './compare.ts';

/** Every message of a rank, with all its fields. */
const FROM_RANK: readonly Readonly<Record<string, unknown>>[] = [
  { type: 'hello', protocol: PROTOCOL, rank: 1, world: 2, pid: 7, dumpSignal: 10 },
  { type: 'step', step: 1, metrics: { loss: 0.5 } },
  { type: 'begin', step: 1, linked: true },
  { type: 'saved', save: 's', stallMs: 1, waitedMs: 2, betweenMs: 3 },
  { type: 'failed', save: 's', reason: 'no room' },
  { type: 'reserve', bytes: 4096 },
  { type: 'take', step: 1, agreed: true },
  { type: 'late', at: 1, step: 2 },
  { type: 'agrees', withinMs: 5 },
  { type: 'busy', what: 'evaluation' },
  { type: 'finish' },
];

/** Messages that the supervisor sends only when a last save fails. */
export const RARE: readonly ToRank[] = [{ type: 'relax' }];

/** What the supervisor reads from each message, and the bounds of both kinds of text. */
export function readMessages(): Tree {
  const read = FROM_RANK.map((message) => {
    const { type, ...fields } = parseOrThrow(message);
    return [type, Object.entries(fields).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)] as const;
  });
  return {
    protocol: PROTOCOL,
    longestLine: String(MAX_LINE_BYTES),
    longestTerminationMessage: String(MESSAGE_BYTES),
    read: Object.fromEntries(read),
  };
}

function parseOrThrow(message: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> & { readonly type: string } {
  const read = parseMessage(JSON.stringify(message));
  if (!read.ok) throw new Error(`the message ${JSON.stringify(message)} ${read.reason}`);
  return read.value;
}
