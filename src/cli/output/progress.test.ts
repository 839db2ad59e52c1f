import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { createProgress, type ProgressUpdate, progressText } from './progress.ts';
import { memoryStream } from '../../../test/support/memory-stream.ts';
import { displayWidth } from './width.ts';

const at = (done: number): ProgressUpdate => ({ phase: 'reading', done, total: 100, unit: 'checkpoints', current: 'run/step-5' });

describe('progress on a terminal', () => {
  it('shows nothing in the first second', async () => {
    const stream = memoryStream({ isTTY: true });
    const clock = new VirtualClock();
    const progress = createProgress({ mode: 'auto', stream, clock });
    await clock.advance(999);
    progress.update(at(1));
    progress.clear();
    expect(stream.text()).toBe('');
  });

  it('is redrawn in place, at most ten times a second', async () => {
    const stream = memoryStream({ isTTY: true });
    const clock = new VirtualClock();
    const progress = createProgress({ mode: 'auto', stream, clock });
    await clock.advance(1000);
    for (let i = 0; i < 1000; i++) {
      progress.update(at(i));
      await clock.advance(1);
    }
    expect(stream.text().split('\r')).toHaveLength(11);
  });

  it('is removed when other output is printed', async () => {
    const stream = memoryStream({ isTTY: true });
    const clock = new VirtualClock();
    const progress = createProgress({ mode: 'auto', stream, clock });
    await clock.advance(2000);
    progress.update(at(1));
    progress.clear();
    progress.clear();
    expect(stream.text()).toBe('\r\u001b[2Kreading 1 of 100 checkpoints (1 %), 3m 18s left  run/step-5\r\u001b[2K');
  });
});

describe('progress elsewhere', () => {
  it.each([
    ['a pipe', 'auto', false],
    ['a terminal with --progress=none', 'none', true],
  ] as const)('prints nothing in %s', async (_, mode, isTTY) => {
    const stream = memoryStream({ isTTY });
    const clock = new VirtualClock();
    const progress = createProgress({ mode, stream, clock });
    await clock.advance(5000);
    progress.update(at(1));
    progress.clear();
    expect(stream.text()).toBe('');
  });

  it('is JSON lines with --progress=json, the first at once, then ten a second, and the last always', async () => {
    const stream = memoryStream({});
    const clock = new VirtualClock();
    const progress = createProgress({ mode: 'json', stream, clock });
    for (let i = 1; i <= 100; i++) {
      progress.update(at(i));
      await clock.advance(3);
    }
    progress.clear();
    const lines = stream
      .text()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { progress: ProgressUpdate });
    expect(lines.map(({ progress: { done } }) => done)).toEqual([1, 35, 69, 100]);
    expect(lines[0]).toEqual({ progress: at(1) });
  });
});

describe('progressText', () => {
  it('shows bytes as sizes and keeps the end of a long path', () => {
    const update = { phase: 'reading', done: 2 ** 30, total: 2 ** 33, unit: 'bytes', current: `/a/${'b/'.repeat(50)}step-100.pt` };
    expect(progressText(update, 2000, 70)).toBe('reading 1 GiB of 8 GiB (12 %), 14s left  …/b/b/b/b/b/b/b/b/step-100.pt');
  });

  it('never exceeds the columns, and prints no control characters', () => {
    const update = { phase: 'reading', done: 1, total: 0, unit: 'files', current: 'x\u001b[2J\ny' };
    for (let columns = 1; columns < 60; columns++) {
      const text = progressText(update, 0, columns);
      expect(displayWidth(text)).toBeLessThanOrEqual(columns);
      expect(text).not.toMatch(/[\u0000-\u001f]/);
    }
  });
});
