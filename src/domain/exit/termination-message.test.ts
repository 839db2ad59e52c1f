import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { awkwardText } from '../../../test/support/awkward-text.ts';
import { MESSAGE_BYTES, parseTerminationMessage, renderTerminationMessage, type TerminationMessage } from './termination-message.ts';

const MESSAGE: TerminationMessage = {
  provisional: false,
  run: '0f3c',
  attempt: 3,
  node: 'node-a',
  atMs: 1_770_000_000_000,
  cause: 'aws-spot',
  deadlineMs: 1_770_000_120_000,
  exitCode: 143,
  end: 'interrupted',
  trainer: { code: 1 },
  step: 1234,
  lastGoodStep: 1230,
  flush: 'made',
  lostMs: 2000,
  lostSteps: 4,
  accelerators: 8,
  sentence: 'interrupted by a Spot reclaim; the flush made it',
};

describe('the termination message', () => {
  it('is one line of JSON with a schema', () => {
    expect(JSON.parse(renderTerminationMessage(MESSAGE))).toEqual({ schema: 'holdfast.end/1', ...MESSAGE });
  });

  it('survives a round trip unchanged', () => {
    expect(parseTerminationMessage(renderTerminationMessage(MESSAGE))).toEqual({ ok: true, value: MESSAGE });
  });

  it('may come before its run and its attempt are known', () => {
    const early = { ...MESSAGE, run: null, attempt: null };
    expect(parseTerminationMessage(renderTerminationMessage(early))).toEqual({ ok: true, value: early });
  });

  it('never has more bytes than a kubelet keeps, whatever the texts are, and stays readable', () => {
    const text = fc.oneof(
      awkwardText({ maxLength: 2000 }),
      fc.constantFrom('\u0000'.repeat(9000), '\ud800'.repeat(9000), '漢'.repeat(9000)),
    );
    fc.assert(
      fc.property(text, text, text, (run, node, sentence) => {
        const rendered = renderTerminationMessage({ ...MESSAGE, run, node, sentence, cause: run, end: node });
        expect(Buffer.byteLength(rendered)).toBeLessThanOrEqual(MESSAGE_BYTES);
        expect(parseTerminationMessage(rendered).ok).toBe(true);
      }),
    );
  });

  it.each([
    ['', 'it is not JSON'],
    ['Traceback (most recent call last):', 'it is not JSON'],
    ['[]', 'it is not a JSON object'],
    ['{"schema":"holdfast.end/2"}', 'it is not of holdfast.end/1'],
    [JSON.stringify({ schema: 'holdfast.end/1', ...MESSAGE, step: '7' }), 'its field step has a wrong value'],
    [JSON.stringify({ schema: 'holdfast.end/1', ...MESSAGE, trainer: 'gone' }), 'its field trainer has a wrong value'],
    [' '.repeat(5000), 'it is longer than a termination message can be'],
  ])('is refused when the file holds something else: %s', (text, reason) => {
    expect(parseTerminationMessage(text)).toEqual({ ok: false, reason });
  });
});
