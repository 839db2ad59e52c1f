import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lastGood } from '../../src/checkpoint/store/last-good.ts';
import { readRun } from '../../src/checkpoint/store/store.ts';
import { ROOT } from '../support/run-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { killHard, trainerPid } from '../support/trainer-process.ts';

const FRAMEWORK = join(ROOT, 'test/support/trainers/framework.py');
/** Several lives of a trainer, one after the other, on a machine that may be busy. */
const PATIENT = { timeout: 180_000 };
type Saving = 'rotates' | 'keeps' | 'overwrites' | 'folders' | 'deeper';
/** It saves every ten steps of ten milliseconds; whoever interrupts it does so long before the last. */
const trainer = (dir: string, saving: Saving, steps = 1_000_000): string[] => ['python3', FRAMEWORK, dir, saving, String(steps)];

const goodStep = async (dir: string): Promise<number | null> =>
  (await lastGood(readRun(dir), { level: 'deep', isReadOnly: true })).checkpoint?.manifest.step ?? null;
const checkpoints = (dir: string): string[] =>
  readdirSync(dir)
    .filter((name) => name.startsWith('step-') || name.startsWith('last'))
    .sort();

/** What the trainer does before its next save, or in the middle of it, while the file is there. */
const gate = (dir: string, name: 'hold' | 'slow') => ({
  close: (): void => writeFileSync(join(dir, name), ''),
  open: (): void => rmSync(join(dir, name)),
});

/** Ends the supervisor and its trainer at once, as a node that is taken away does. */
async function killAll(run: Supervised, dir: string): Promise<void> {
  const pid = await trainerPid(dir);
  run.kill();
  killHard(pid);
  await run.ended;
}

const stepIn = (line: string): number => Number(/(?:step|saved|start) (\d+)/.exec(line)?.[1]);

describe('a trainer that saves by itself', PATIENT, () => {
  it.each(['rotates', 'folders'] as const)(
    'and %s its saves is sealed behind its back, saves once more when it is told to end, and goes on from that',
    async (saving) => {
      using folder = tempFolder();
      const [dir, copies] = [join(folder.path, 'out'), join(folder.path, 'copies')];
      mkdirSync(dir);
      const args = ['--watch', dir, '--ship', `file://${copies}`];
      const run = new Supervised({ args, command: trainer(dir, saving) });
      await run.line(/^saved 10$/);
      const hold = gate(dir, 'hold');
      hold.close();
      await run.line(/sealed step \d+/);
      hold.open();
      // Its framework keeps one: the sealed one is deleted as soon as the next is there, and not brought back.
      expect(await run.line(/was deleted by the trainer/)).toMatch(/nothing is sealed now/);
      await run.line(/warning: the trainer’s framework keeps one save only.*save_total_limit=2/);
      run.signal('SIGTERM');
      const { code, stdout, stderr } = await run.ended;
      const saved = stepIn(stdout.trim().split('\n').at(-1) ?? '');
      expect({ code, stderr }).toEqual({ code: 143, stderr: expect.stringContaining(`the last good step is ${saved}`) as string });
      expect(await goodStep(dir)).toBe(saved);
      expect(checkpoints(dir).filter((name) => !name.endsWith('.holdfast.json'))).toHaveLength(1);

      // The disk dies with the node.
      rmSync(dir, { recursive: true });
      const total = saved + 30;
      const second = await new Supervised({ args, command: trainer(dir, saving, total) }).ended;
      expect(second.code).toBe(0);
      expect(second.stdout).toMatch(new RegExp(`^start ${saved}\n[^]*\nfinished ${(total * (total - 1)) / 2}$`));
      expect(await goodStep(dir)).toBe(Math.floor(total / 10) * 10);
    },
  );

  it('is never sealed half-way: killed in the middle of a save, it goes on from the one before', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'out');
    mkdirSync(dir);
    const run = new Supervised({ args: ['--watch', dir, '--resume-arg=--from'], command: trainer(dir, 'keeps') });
    const [hold, slow] = [gate(dir, 'hold'), gate(dir, 'slow')];
    await run.line(/^saved 10$/);
    hold.close();
    await run.line(/sealed step \d+/);
    slow.close();
    hold.open();
    const half = await run.line(/^half /);
    killHard(await trainerPid(dir));
    const { code, stdout } = await run.ended;
    expect(code).toBe(137);
    const last = stepIn(stdout.split('\n').findLast((line) => line.startsWith('saved')) ?? '');
    expect(await goodStep(dir)).toBe(last);
    expect(existsSync(join(dir, `${half.slice('half '.length)}.holdfast.json`))).toBe(false);
    slow.open();
    const second = await new Supervised({ args: ['--watch', dir, '--resume-arg=--from'], command: trainer(dir, 'keeps', last + 1) }).ended;
    expect([second.code, second.stdout.split('\n')[0]]).toEqual([0, `start ${last}`]);
  });

  it('that writes over its only save and is killed in the middle has nothing left, and that is what is said: nothing is taken for damaged', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'out');
    mkdirSync(dir);
    const run = new Supervised({ args: ['--watch', dir], command: trainer(dir, 'overwrites') });
    const [hold, slow] = [gate(dir, 'hold'), gate(dir, 'slow')];
    await run.line(/^saved 10$/);
    hold.close();
    await run.line(/sealed step \d+/);
    hold.open();
    await run.line(/warning: the trainer’s framework writes its saves over each other/);
    slow.close();
    await run.line(/^half last\.npz/);
    await killAll(run, dir);
    slow.open();
    const second = await new Supervised({ args: ['--watch', dir], command: trainer(dir, 'overwrites', 20) }).ended;
    expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^start 0\n/) as string });
    expect(second.stderr).not.toContain('was not taken');
    expect(readdirSync(join(dir, '.holdfast/quarantine'))).toEqual([]);
    expect(await goodStep(dir)).toBe(20);
  });

  it('is sealed when the disk is better, although nothing of it has changed since the disk failed', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'out');
    mkdirSync(dir);
    const hold = gate(dir, 'hold');
    hold.close();
    const run = new Supervised({ args: ['--watch', dir], command: trainer(dir, 'keeps') });
    await trainerPid(dir);
    // The folder in which manifests are begun cannot be entered: writing one fails, and reading saves does not.
    const staging = join(dir, '.holdfast/attempts/1/staging');
    renameSync(staging, `${staging}-aside`);
    symlinkSync('nowhere/deeper', staging);
    writeFileSync(join(dir, '.holdfast/attempts/1/nowhere'), '');
    hold.open();
    await run.line(/^saved 10$/);
    hold.close();
    await run.line(/error STORE_FAILED: cannot seal .*step-10\.npz/);
    // In one step: without the folder the run would look like one that another has taken over.
    symlinkSync('staging-aside', `${staging}-again`);
    renameSync(`${staging}-again`, staging);
    await run.line(/sealed step 10 /);
    hold.open();
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
  });

  it('is sealed by the next start where it was killed before its last save was', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'out');
    const run = new Supervised({ args: ['--watch', dir], command: trainer(dir, 'keeps') });
    await run.line(/^start 0$/);
    // It may be later with its own record than the trainer with its first word.
    await trainerPid(dir);
    // Nobody watches any more, and the trainer goes on saving.
    run.signal('SIGSTOP');
    await run.line(/^saved 20$/);
    await killAll(run, dir);
    const second = new Supervised({ args: ['--watch', dir], command: trainer(dir, 'keeps') });
    // What it was writing when it was killed may have been complete.
    expect(stepIn(await second.line(/^start/))).toBeGreaterThanOrEqual(20);
    await second.line(/sealed step \d+, which an earlier life had left/);
    second.signal('SIGTERM');
    expect((await second.ended).code).toBe(143);
  });

  it('deeper than in the folder that is watched is told where, and no folder that only leads there is sealed', async () => {
    using folder = tempFolder();
    const [dir, deeper] = [join(folder.path, 'out'), join(folder.path, 'out/logs/version_0')];
    const first = await new Supervised({ args: ['--watch', dir], command: trainer(dir, 'deeper', 20) }).ended;
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining(`Give --watch=${deeper}`) as string });
    expect(first.stderr).not.toMatch(/sealed step/);
    expect(readdirSync(join(dir, 'logs'))).toEqual(['version_0']);
    const second = await new Supervised({ args: ['--watch', deeper], command: trainer(dir, 'deeper', 30) }).ended;
    expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^start 20\n/) as string });
    expect(await goodStep(deeper)).toBe(30);
  });

  it('is not delayed or stopped by being watched: its saves and deletions all go through', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'out');
    mkdirSync(dir);
    const { code, stdout, stderr } = await new Supervised({ args: ['--watch', dir], command: trainer(dir, 'folders', 500) }).ended;
    expect({ code, finished: stdout.split('\n').at(-1), stderr }).toEqual({
      code: 0,
      finished: `finished ${(500 * 499) / 2}`,
      stderr: expect.stringContaining('sealed step 500') as string,
    });
    expect(checkpoints(dir)).toEqual(['step-500']);
  });
});

it('a folder to watch that is not the folder of the run is refused', async () => {
  const { code, stderr } = await new Supervised({ args: ['--watch', '/a', '--dir', '/b'], command: ['true'] }).ended;
  expect({ code, stderr }).toEqual({ code: 64, stderr: expect.stringContaining('name two folders') as string });
});
