import { constants } from 'node:os';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMessage } from './protocol.ts';

const HELLO = { type: 'hello', protocol: 'holdfast.sdk/1', rank: 1, world: 4, pid: 77 };

describe('the parser of a rank’s messages', () => {
  it.each([
    [HELLO, { type: 'hello', rank: 1, world: 4, pid: 77, dumpSignal: null }],
    [
      { ...HELLO, dumpSignal: constants.signals.SIGUSR2 },
      { type: 'hello', rank: 1, world: 4, pid: 77, dumpSignal: constants.signals.SIGUSR2 },
    ],
    [
      { ...HELLO, dumpSignal: 9 },
      { type: 'hello', rank: 1, world: 4, pid: 77, dumpSignal: null },
    ],
    [
      { type: 'step', step: 7, metrics: { loss: 0.5, name: 'text', nested: {} } },
      { type: 'step', step: 7, metrics: { loss: 0.5 } },
    ],
    [
      { type: 'step', step: 7 },
      { type: 'step', step: 7, metrics: {} },
    ],
    [
      { type: 'begin', step: 0 },
      { type: 'begin', step: 0, linked: false },
    ],
    [
      { type: 'begin', step: 0, linked: true },
      { type: 'begin', step: 0, linked: true },
    ],
    [
      { type: 'saved', save: 's' },
      { type: 'saved', save: 's', stallMs: null, waitedMs: 0, betweenMs: 0 },
    ],
    [
      { type: 'saved', save: 's', stallMs: 8.5, waitedMs: 3, betweenMs: 2 },
      { type: 'saved', save: 's', stallMs: 8.5, waitedMs: 3, betweenMs: 2 },
    ],
    [
      { type: 'saved', save: 's', stallMs: -1, waitedMs: -1, betweenMs: 'long' },
      { type: 'saved', save: 's', stallMs: null, waitedMs: 0, betweenMs: 0 },
    ],
    [
      { type: 'take', step: 7 },
      { type: 'take', step: 7, agreed: false },
    ],
    [
      { type: 'take', step: 7, agreed: true },
      { type: 'take', step: 7, agreed: true },
    ],
    [
      { type: 'reserve', bytes: 4096 },
      { type: 'reserve', bytes: 4096 },
    ],
    [
      { type: 'failed', save: 's' },
      { type: 'failed', save: 's', reason: 'no reason given' },
    ],
    [
      { type: 'busy', what: null },
      { type: 'busy', what: null },
    ],
    [{ type: 'finish', more: [1] }, { type: 'finish' }],
    [{ type: 'tomorrow' }, { type: 'unknown', name: 'tomorrow' }],
    [{ type: 'constructor' }, { type: 'unknown', name: 'constructor' }],
  ])('reads %j', (message, value) => {
    expect(parseMessage(JSON.stringify(message))).toEqual({ ok: true, value });
  });

  it.each([
    ['not json', 'is not a JSON object'],
    ['[]', 'is not a JSON object'],
    ['{}', 'has no type'],
    [JSON.stringify({ ...HELLO, protocol: 'holdfast.sdk/2' }), 'speaks "holdfast.sdk/2", not holdfast.sdk/1'],
    [JSON.stringify({ ...HELLO, rank: 4 }), 'names no rank below the world size 4'],
    [JSON.stringify({ ...HELLO, world: 1e9 }), 'names no world size'],
    ['{"type":"step","step":-1}', 'has no step that is a whole number from 0'],
    ['{"type":"begin","step":1.5}', 'has no step that is a whole number from 0'],
    ['{"type":"saved","save":""}', 'names no save'],
    ['{"type":"take"}', 'has no step that is a whole number from 0'],
    ['{"type":"reserve","bytes":-1}', 'has no bytes that are a whole number from 0'],
  ])('refuses the line %s', (line, reason) => {
    expect(parseMessage(line)).toEqual({ ok: false, reason });
  });

  it('never throws, whatever the line is', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (line) => typeof parseMessage(line).ok === 'boolean'));
  });
});
