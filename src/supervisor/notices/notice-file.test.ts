import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { realClock, VirtualClock } from '../../core/clock.ts';
import { noticeFileProblem, readNoticeFile, watchNoticeFile } from './notice-file.ts';
import { Notices } from './notices.ts';
import { NodeFacts } from './node-facts.ts';

describe('a notice in a file of annotations', () => {
  it.each([
    ['', null],
    ['app="x"\n', null],
    ['holdfast.dev/notice=""', null],
    ['app="x"\nholdfast.dev/notice="suspend"\n', { cause: 'suspend', terminating: true, deadlineMs: null, source: 'watched-file' }],
    [
      'holdfast.dev/notice="preemption"\nholdfast.dev/deadline="1970-01-01T00:01:00Z"',
      { cause: 'preemption', deadlineMs: 60_000, confidence: 'known' },
    ],
    ['holdfast.dev/notice="save-requested"\nholdfast.dev/deadline=""', { cause: 'save-requested', terminating: false, deadlineMs: null }],
  ])('%j is read as %j', (text, notice) => {
    const read = readNoticeFile(text, 1000);
    expect(read.complaints).toEqual([]);
    if (notice === null) expect(read.notice).toBeNull();
    else expect(read.notice).toMatchObject({ atMs: 1000, ...notice });
  });

  it('an unknown cause becomes a complaint', () => {
    expect(readNoticeFile('holdfast.dev/notice="doomsday"', 0)).toMatchObject({
      notice: null,
      complaints: ['holdfast.dev/notice="doomsday" is not a known cause'],
    });
  });

  it.each(['soon', '2020-01-01T00:00:00Z', '2300-01-01T00:00:00Z'])(
    'an impossible deadline (%s) becomes a complaint, and the grace counts',
    (deadline) => {
      const read = readNoticeFile(`holdfast.dev/notice="drain"\nholdfast.dev/deadline="${deadline}"`, Date.UTC(2026, 0));
      expect(read).toMatchObject({
        notice: { cause: 'drain', deadlineMs: null },
        complaints: [expect.stringContaining(`holdfast.dev/deadline="${deadline}" is not a time`) as string],
      });
    },
  );

  it('a grace becomes a limit, and an invalid one becomes a complaint', () => {
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

  it('reading never throws, whatever the file holds', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => readNoticeFile(text, 0).complaints.length <= 2));
  });
});

/** A thread of the runtime reads the file, which takes its own time. */
async function untilItSleeps(clock: VirtualClock): Promise<void> {
  while (clock.waiting === 0) await new Promise((resolve) => setImmediate(resolve));
}

describe('a file of annotations that is watched', () => {
  it('reports a notice when it appears and when it changes, and not when another line changes', async () => {
    using folder = tempFolder();
    const path = join(folder.path, 'annotations');
    const clock = new VirtualClock();
    const over = new AbortController();
    const told: string[] = [];
    const listener = {
      onNotice: ({ cause }: { readonly cause: string }) => void told.push(cause),
      onWithdrawn: ({ cause }: { readonly cause: string }) => void told.push(`no ${cause}`),
    };
    const surroundings = new NodeFacts();
    const notices = new Notices(clock, { graceMs: 30_000, from: 'option' }, listener, () => surroundings.now());
    const watching = watchNoticeFile(path, { notices, surroundings, clock, signal: over.signal, complain: (text) => void told.push(text) });
    const deadline = `holdfast.dev/deadline="${new Date(clock.now() + 90_000).toISOString()}"`;
    const steps: readonly (readonly [string, readonly string[]])[] = [
      ['app="a"', []],
      ['app="a"\nholdfast.dev/notice="pressure"', ['pressure']],
      ['app="b"\nholdfast.dev/notice="pressure"', []],
      [`app="b"\nholdfast.dev/notice="pressure"\n${deadline}`, ['pressure']],
      [`app="c"\nholdfast.dev/notice="pressure"\n${deadline}`, []],
      [`app="c"\nholdfast.dev/notice="save-requested"\n${deadline}`, ['save-requested', 'no pressure']],
      ['app="c"', ['no save-requested']],
      ['app="c"\nholdfast.dev/notice="save-requested"', ['save-requested']],
      ['app="c"\nholdfast.dev/notice="drain"', ['drain', 'no save-requested']],
    ];
    for (const [text, expected] of steps) {
      await untilItSleeps(clock);
      writeFileSync(path, text);
      await clock.advance(1000);
      await untilItSleeps(clock);
      expect(told.splice(0)).toEqual(expected);
    }
    over.abort();
    await watching;
  });
});

describe('the path of a file of annotations', () => {
  it('is no problem while its folder exists, with or without the file', async () => {
    using folder = tempFolder();
    const path = join(folder.path, 'annotations');
    expect(await noticeFileProblem(path, realClock)).toBeNull();
    writeFileSync(path, '');
    expect(await noticeFileProblem(path, realClock)).toBeNull();
  });

  it('is named in a problem when no notice can come from it', async () => {
    using folder = tempFolder();
    const [path, file] = [join(folder.path, 'info', 'annotations'), join(folder.path, 'file')];
    writeFileSync(file, '');
    expect(await noticeFileProblem(path, realClock)).toBe(
      `the folder ${folder.path}/info does not exist: no notice is read from ${path} until it does`,
    );
    expect(await noticeFileProblem(folder.path, realClock)).toBe(`${folder.path} is a folder: no notice can be read from it`);
    expect(await noticeFileProblem(join(file, 'annotations'), realClock)).toBe(
      `${file} is not a folder: no notice can be read from ${file}/annotations`,
    );
  });
});
