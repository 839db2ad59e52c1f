import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { mountTmpfs, whyNoMounts } from '../support/mounts.ts';
import { ROOT } from '../support/run-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const MEMORY = '/dev/shm';
const STEPS = 50;
const NEVER = -1;

const goodStep = async (dir: string): Promise<number | null> => (await lastGood(readRun(dir))).checkpoint?.manifest.step ?? null;

/**
 * A run whose trainer keeps the file of its saves; everything is removed at the end of the scope.
 */
function keptRun(memory: Disposable & { readonly path: string } = tempFolder(MEMORY)) {
  const folder = tempFolder();
  const dir = join(folder.path, 'run');
  return {
    dir,
    stage: memory.path,
    start: ({ steps = STEPS, dieAt = NEVER } = {}) =>
      new Supervised({
        args: ['--dir', dir, '--every', '10steps', `--stage=${memory.path}`],
        command: ['python3', join(ROOT, 'test/support/trainers/kept.py'), String(steps), String(dieAt)],
      }),
    [Symbol.dispose]: () => {
      folder[Symbol.dispose]();
      memory[Symbol.dispose]();
    },
  };
}

describe.skipIf(!existsSync(MEMORY))('memory that a rank keeps from save to save', () => {
  it('holds all its saves, even the first, and is free again when the next one begins', async () => {
    using run = keptRun();
    const { code, stdout } = await run.start().ended;
    expect([code, stdout.split('\n').at(-1)]).toEqual([0, `finished ${STEPS}`]);
    const saves = [...stdout.matchAll(/^writing (\d+) (.*) (\d+)$/gm)].map(([, step, path, links]) => [
      step,
      path?.startsWith(run.stage),
      links,
    ]);
    expect(saves).toEqual(['10', '20', '30', '40'].map((step) => [step, true, '0']));
    expect(await goodStep(run.dir)).toBe(40);
    expect(readdirSync(run.stage)).toEqual([]);
  });

  it.skipIf(whyNoMounts() !== null)('is enough for all saves when there is no room for a second one', async () => {
    using run = keptRun(mountTmpfs('size=1400k'));
    const { code, stdout } = await run.start().ended;
    expect([code, [...stdout.matchAll(/^writing \d+ (.*) 0$/gm)].map(([, path]) => path?.startsWith(run.stage))]).toEqual([
      0,
      [true, true, true, true],
    ]);
    expect(await goodStep(run.dir)).toBe(40);
  });

  it('is freed when the rank leaves, and a save that it handed over is still sealed', async () => {
    using run = keptRun();
    expect((await run.start({ dieAt: 20 }).ended).code).toBe(137);
    expect(await goodStep(run.dir)).toBe(20);
    expect(readdirSync(run.stage)).toEqual([]);
    const { code, stdout } = await run.start().ended;
    expect([code, stdout.split(' ')[1]]).toEqual([0, '21']);
  });

  it('is found and freed by the next attempt if supervisor and trainer died together', async () => {
    using run = keptRun();
    const first = run.start({ steps: 100_000_000 });
    const [, , pid] = (await first.line(/^start /)).split(' ');
    await first.line(/^writing 10 /);
    // Neither may see the other's end.
    first.signal('SIGSTOP');
    process.kill(Number(pid), 'SIGKILL');
    first.kill();
    await first.ended;
    const { code, stdout } = await run.start().ended;
    expect([code, stdout.split('\n').at(-1)]).toEqual([0, `finished ${STEPS}`]);
    expect(readdirSync(run.stage)).toEqual([]);
  });
});
