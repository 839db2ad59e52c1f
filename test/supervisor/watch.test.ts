import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { listQuarantine } from '../../src/store/resume/quarantine.ts';
import { LastWords } from '../support/last-words.ts';
import { runCommand } from '../support/run-command.ts';
import { ROOT } from '../support/run-process.ts';
import { stopProcess } from '../support/stop-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { killHard, trainerPid } from '../support/trainer-process.ts';

const FRAMEWORK = join(ROOT, 'test/support/trainers/framework.py');
type Saving = 'rotates' | 'keeps' | 'overwrites' | 'folders' | 'deeper';
/**
 * The trainer saves every ten steps of ten milliseconds. Each test interrupts it long before the
 * last step.
 */
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

describe('a trainer that saves by itself', () => {
  it.each(['rotates', 'folders'] as const)(
    'and %s its saves is sealed while it trains, saves once more on SIGTERM, and resumes from that save',
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
      // Its framework keeps one: the sealed one is deleted as soon as the next is there, and not
      // brought back.
      expect(await run.line(/was deleted by the trainer/)).toMatch(/nothing is sealed now/);
      await run.line(/warning: the trainer’s framework keeps only one save.*save_total_limit=2/);
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

  it('resumes from the save before if it is killed in the middle of a save', async () => {
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

  it('that is killed while it overwrites its only save starts fresh, and no damage is reported', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'out');
    mkdirSync(dir);
    const run = new Supervised({ args: ['--watch', dir], command: trainer(dir, 'overwrites') });
    const [hold, slow] = [gate(dir, 'hold'), gate(dir, 'slow')];
    await run.line(/^saved 10$/);
    hold.close();
    await run.line(/sealed step \d+/);
    hold.open();
    await run.line(/warning: the trainer’s framework overwrites its own saves/);
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

  it('is sealed once a failed disk recovers, even if its save has not changed since', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'out');
    mkdirSync(dir);
    const hold = gate(dir, 'hold');
    hold.close();
    const run = new Supervised({ args: ['--watch', dir], command: trainer(dir, 'keeps') });
    await trainerPid(dir);
    // The folder in which manifests are begun cannot be entered: writing one fails, and reading
    // saves does not.
    const staging = join(dir, '.holdfast/attempts/1/staging');
    renameSync(staging, `${staging}-aside`);
    symlinkSync('nowhere/deeper', staging);
    writeFileSync(join(dir, '.holdfast/attempts/1/nowhere'), '');
    hold.open();
    await run.line(/^saved 10$/);
    hold.close();
    await run.line(/error STORE_FAILED: cannot seal .*step-10\.npz/);
    // While it is stopped: without the folder the run would look like one that another has taken
    // over.
    await stopProcess(run.pid);
    rmSync(staging);
    renameSync(`${staging}-aside`, staging);
    run.signal('SIGCONT');
    await run.line(/sealed step 10 /);
    hold.open();
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
  });

  it('has its last save sealed by the next start if it was killed before the seal', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'out');
    const run = new Supervised({ args: ['--watch', dir], command: trainer(dir, 'keeps') });
    await run.line(/^start 0$/);
    // It may be later with its own record than the trainer with its first word.
    await trainerPid(dir);
    // No process watches any more, and the trainer keeps saving.
    run.signal('SIGSTOP');
    await run.line(/^saved 20$/);
    await killAll(run, dir);
    const second = new Supervised({ args: ['--watch', dir], command: trainer(dir, 'keeps') });
    // The save that was being written at the kill may have been complete.
    expect(stepIn(await second.line(/^start/))).toBeGreaterThanOrEqual(20);
    await second.line(/sealed step \d+, which an earlier run of the supervisor left/);
    second.signal('SIGTERM');
    expect((await second.ended).code).toBe(143);
  });

  it('below the watched folder gets a warning with the right folder, and no parent folder is sealed', async () => {
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

  it('is not delayed or stopped by the watcher, and all its saves and deletions succeed', async () => {
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

it('the newest of several saves that are sealed at once is the last good one, and the finished step', async () => {
  using folder = tempFolder();
  using words = new LastWords(folder.path);
  const dir = join(folder.path, 'out');
  mkdirSync(dir);
  const hold = gate(dir, 'hold');
  hold.close();
  const run = new Supervised({ args: ['--watch', dir, '--termination-log', words.path], command: trainer(dir, 'keeps', 60) });
  await run.line(/^start 0$/);
  // Nothing is sealed while the trainer makes all of its saves.
  await trainerPid(dir);
  run.signal('SIGSTOP');
  hold.open();
  await run.line(/^finished /);
  run.signal('SIGCONT');
  const { code, stderr } = await run.ended;
  expect(code).toBe(0);
  // The older ones are sealed after the newest.
  expect(stderr).toMatch(/sealed step 60 [^]*sealed step 10 /);
  expect(words.take().at(-1)).toMatchObject({ step: 60, lastGoodStep: 60, lostMs: 0 });
  expect((await runCommand(['log', dir])).stdout).toContain('finished at step 60');
});

it('a sealed save in which a byte changes while it is watched is quarantined by the next start', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'out');
  mkdirSync(dir);
  const first = new Supervised({ args: ['--watch', dir], command: trainer(dir, 'keeps') });
  const hold = gate(dir, 'hold');
  await first.line(/^saved 20$/);
  hold.close();
  await first.line(/sealed step 10 /);
  // It may have been on its way into one more save.
  const lastSaved = (): number => stepIn(first.printed.split('\n').findLast((line) => line.startsWith('saved')) ?? '');
  let step = 0;
  while (step !== lastSaved()) {
    step = lastSaved();
    await first.line(new RegExp(`sealed step ${step} `));
  }
  const file = openSync(join(dir, `step-${step}.npz`), 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, 300);
  writeSync(file, Buffer.from([(byte[0] ?? 0) ^ 1]), 0, 1, 300);
  closeSync(file);
  await first.line(new RegExp(`step-${step}.npz was overwritten by the trainer`));
  await first.line(/error CHECKPOINT_NOT_GOOD/);
  await killAll(first, dir);
  hold.open();
  const second = await new Supervised({ args: ['--watch', dir], command: trainer(dir, 'keeps', step + 20) }).ended;
  expect(second).toMatchObject({ code: 0, stderr: expect.stringContaining(`step-${step}.npz was not taken`) as string });
  expect(listQuarantine(readRun(dir))).toMatchObject([{ name: `step-${step}.npz`, code: 'MANIFEST_CHECKSUM' }]);
});

it('an export of the weights causes a warning only when there is no checkpoint', async () => {
  using folder = tempFolder();
  const warnings = async (name: string, steps: number): Promise<string[]> => {
    const dir = join(folder.path, name);
    const { code, stderr } = await new Supervised({ args: ['--watch', dir], command: [...trainer(dir, 'keeps', steps), '--export'] }).ended;
    expect(code).toBe(0);
    return stderr.split('\n').filter((line) => line.includes('warning:'));
  };
  expect(await warnings('with-checkpoints', 20)).toEqual([]);
  expect(await warnings('alone', 5)).toEqual([expect.stringContaining('export.npz has no optimizer state')]);
});

it('a watched folder that is not the run folder is refused', async () => {
  const { code, stderr } = await new Supervised({ args: ['--watch', '/a', '--dir', '/b'], command: ['true'] }).ended;
  expect({ code, stderr }).toEqual({ code: 64, stderr: expect.stringContaining('are different folders') as string });
});
