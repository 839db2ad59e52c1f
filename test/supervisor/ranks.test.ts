import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { readLedger } from '../../src/ledger/reader.ts';
import { ROOT } from '../support/run-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { killHard } from '../support/trainer-process.ts';

const RANKS = join(ROOT, 'test/support/trainers/ranks.py');
const WORLD = 3;
const trainer = (steps: number): string[] => ['python3', RANKS, String(WORLD), String(steps)];
/** What the ranks print at their end. */
const finishedAfter = (steps: number): readonly string[] =>
  Array.from({ length: WORLD }, (_, rank) => `finished ${rank} ${((steps * (steps - 1)) / 2) * (rank + 1)}`);

/** The last good step, after checking that every rank's part is of the same step. */
async function goodStep(dir: string): Promise<number> {
  const { checkpoint } = await lastGood(readRun(dir));
  if (checkpoint === null) throw new Error('there is no last good checkpoint');
  const { step, worldSize } = checkpoint.manifest;
  expect(worldSize).toBe(WORLD);
  const files = readdirSync(checkpoint.path).filter((name) => name.startsWith('rank-'));
  const steps = files.map((name) => (JSON.parse(readFileSync(join(checkpoint.path, name), 'utf8')) as { step: number }).step);
  expect(steps).toEqual(Array.from({ length: WORLD }, () => step));
  return step;
}

const finishedLines = (stdout: string): readonly string[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('finished'))
    .sort();

describe('all ranks of a node under one supervisor', () => {
  it.each([
    ['at steps that each rank counts itself', '40steps'],
    ['at a step that the supervisor chooses ahead of all ranks', '300ms'],
  ])('save together, %s, and make one checkpoint', async (_, every) => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const run = new Supervised({ args: ['--dir', dir, '--every', every], command: trainer(1000) });
    const { code, stdout, stderr } = await run.ended;
    expect({ code, finished: finishedLines(stdout), stderr }).toEqual({
      code: 0,
      finished: finishedAfter(1000),
      stderr: expect.stringMatching(/sealed step/) as string,
    });
    expect(await goodStep(dir)).toBeGreaterThan(0);
  });

  it('flush the same step on SIGTERM even if their launcher exits with 1, and resume from it', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const first = new Supervised({ args: ['--dir', dir], command: trainer(1_000_000) });
    await first.line(/^ready/);
    first.signal('SIGTERM');
    expect(await first.ended).toMatchObject({ code: 143, stderr: expect.stringContaining('sealed step') as string });
    const ends = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'attempt-ended' ? [event] : []));
    expect(ends).toMatchObject([{ end: 'interrupted', accelerators: WORLD }]);
    const step = await goodStep(dir);
    const second = await new Supervised({ args: ['--dir', dir], command: trainer(step + 300) }).ended;
    expect([second.code, finishedLines(second.stdout)]).toEqual([0, finishedAfter(step + 300)]);
    expect(second.stdout).toContain(`start 0 ${step + 1} `);
  });

  it('get one warning at the first save if only some of them have attached', async () => {
    using folder = tempFolder();
    const alone = ['python3', RANKS, '1', '200', '0', String(WORLD)];
    const { code, stderr } = await new Supervised({ args: ['--dir', join(folder.path, 'run'), '--every', '40steps'], command: alone })
      .ended;
    expect(code).toBe(0);
    expect(stderr.match(/\d of 3 ranks attached.*/g)).toEqual([
      '1 of 3 ranks attached here: the save of step 40 will not include the others',
    ]);
  });

  it('that write the same file get an error and train on, and the mixed save is not sealed', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const env = { SAME_NAMES: '1' };
    const { code, stdout, stderr } = await new Supervised({ args: ['--dir', dir, '--every', '40steps'], command: trainer(100), env }).ended;
    expect([code, finishedLines(stdout)]).toEqual([0, finishedAfter(100)]);
    expect(stderr).toMatch(/SAVE_MIXED: state\.json was written by rank \d and by rank \d/);
    expect(stderr).toContain('f"state-{rank}.pt"');
    expect(readdirSync(dir).filter((name) => name.startsWith('step-'))).toEqual([]);
    const ends = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'save-ended' ? [event] : []));
    expect(ends.map(({ step, outcome }) => [step, outcome])).toEqual([
      [40, 'failed'],
      [80, 'failed'],
    ]);
  });

  it('train on when one of them cannot write its part of a save, and the next save is sealed', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const command = ['python3', join(ROOT, 'test/support/trainers/half_save.py'), '50'];
    const { code, stdout, stderr } = await new Supervised({ args: ['--dir', dir, '--every', '20steps'], command }).ended;
    expect({ code, lines: stdout.split('\n').toSorted() }).toEqual({
      code: 0,
      lines: ['failed 20 no space left for this rank', 'finished 0', 'finished 1'],
    });
    expect(stderr).toContain('step 20 is not saved: its folder was removed while it was written (FileNotFoundError');
    const { checkpoint } = await lastGood(readRun(dir));
    expect(checkpoint?.manifest).toMatchObject({ step: 40, worldSize: 2 });
  });

  it('lose no checkpoint when one of them is killed, and all restart without a hang', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    // Six seconds: it cannot be over before one of them is killed, however long the machine takes
    // for a seal.
    const steps = 3000;
    const run = new Supervised({ args: ['--dir', dir, '--every', '40steps', '--restarts', '2'], command: trainer(steps) });
    const pid = Number((await run.line(/^start 1 0 /)).split(' ')[3]);
    await run.line(/sealed step 80 /);
    killHard(pid);
    const { code, stdout, stderr } = await run.ended;
    expect([code, finishedLines(stdout)]).toEqual([0, finishedAfter(steps)]);
    expect(stderr).toContain('the trainer failed with exit code 1');
    await goodStep(dir);
  });
});
