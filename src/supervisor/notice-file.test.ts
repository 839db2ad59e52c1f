import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readNoticeFile } from './notice-file.ts';

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
    const read = readNoticeFile(text, 1000);
    expect(read.complaints).toEqual([]);
    if (notice === null) expect(read.notice).toBeNull();
    else expect(read.notice).toMatchObject({ atMs: 1000, ...notice });
  });

  it('a cause that nobody knows is told', () => {
    expect(readNoticeFile('holdfast.dev/notice="doomsday"', 0)).toMatchObject({
      notice: null,
      complaints: ['holdfast.dev/notice="doomsday" is not a cause that is known'],
    });
  });

  it('a grace that is shorter than what was promised is a limit; one that is none is told', () => {
    expect(readNoticeFile('holdfast.dev/grace="90s"', 0).limits).toEqual([
      { graceMs: 90_000, reason: 'the annotation holdfast.dev/grace says 1m 30s' },
    ]);
    expect(readNoticeFile('holdfast.dev/grace="90"', 0)).toMatchObject({
      limits: [],
      complaints: [expect.stringMatching(/^holdfast.dev\/grace: "90" has a number without a unit/) as string],
    });
  });

  it.each([
    ['cloud.google.com/gke-spot="true"', 'gke-spot'],
    ['cloud.google.com/gke-preemptible="true"', 'gke-spot'],
    ['eks.amazonaws.com/capacityType="SPOT"', 'ec2-spot'],
    ['kubernetes.azure.com/scalesetpriority="spot"', 'azure-spot'],
    ['cloud.google.com/gke-spot="false"', null],
    ['app="spot"', null],
  ])('the label %s makes the node %s', (text, node) => {
    expect(readNoticeFile(`app="x"\n${text}\n`, 0).node).toBe(node);
  });

  it('whatever the file holds, reading it does not fail', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => readNoticeFile(text, 0).complaints.length <= 2));
  });
});
