import { describe, expect, it } from 'vitest';
import { memoryStream } from '../../../test/support/memory-stream.ts';
import { createLiveBlock } from './live-block.ts';

describe('a live block', () => {
  it('is drawn again from the first line that changed, and stays when it is settled', () => {
    const stream = memoryStream({ isTTY: true });
    const block = createLiveBlock(stream);
    block.draw(['a', 'b']);
    block.draw(['a', 'c']);
    block.draw(['a', 'c']);
    block.settle(['a', 'c', 'd']);
    block.draw(['e']);
    expect(stream.text()).toBe('a\nb\n\u001b[1A\r\u001b[Jc\nd\ne\n');
  });

  it('removes lines that no longer exist', () => {
    const stream = memoryStream({ isTTY: true });
    const block = createLiveBlock(stream);
    block.draw(['a', 'b', 'c']);
    block.settle(['a']);
    expect(stream.text()).toBe('a\nb\nc\n\u001b[2A\r\u001b[J');
  });

  it('writes only the last state into a pipe, without a control character', () => {
    const stream = memoryStream({});
    const block = createLiveBlock(stream);
    block.draw(['a']);
    block.draw(['b']);
    block.settle(['c']);
    expect(stream.text()).toBe('c\n');
  });
});
