import { describe, expect, it } from 'vitest';
import { readNotice } from './notice-file.ts';

describe('a notice in a file of annotations', () => {
  it.each([
    ['', null],
    ['app="x"\n', null],
    ['holdfast.dev/notice=""', null],
    ['app="x"\nholdfast.dev/notice="suspend"\n', { cause: 'suspend', terminating: true, deadlineMs: null, source: 'watched-file' }],
    [
      'holdfast.dev/notice="preemption"\nholdfast.dev/deadline="2026-01-01T00:01:00Z"',
      { cause: 'preemption', deadlineMs: Date.UTC(2026, 0, 1, 0, 1), confidence: 'known' },
    ],
    [
      'holdfast.dev/notice="save-requested"\nholdfast.dev/deadline="soon"',
      { cause: 'save-requested', terminating: false, deadlineMs: null },
    ],
  ])('%j says %j', (text, notice) => {
    const read = readNotice(text, 1000);
    expect(read.complaint).toBeNull();
    if (notice === null) expect(read.notice).toBeNull();
    else expect(read.notice).toMatchObject({ atMs: 1000, ...notice });
  });

  it('a cause that nobody knows is told', () => {
    expect(readNotice('holdfast.dev/notice="doomsday"', 0)).toEqual({
      notice: null,
      complaint: 'holdfast.dev/notice="doomsday" is not a cause that is known',
    });
  });
});
