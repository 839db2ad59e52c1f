import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { realClock } from '../src/core/clock.ts';
import { type Audience, playDemo } from '../src/demo/demo.ts';
import { SCENES } from '../src/demo/scenes.ts';
import { LAUNCHER, runProcess } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

const NOBODY: Audience = { begins() {}, changes() {}, ends() {} };

/** Processes whose command line names the folder. */
function processesOf(folder: string): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(folder);
    } catch {
      return false;
    }
  });
}

const hasPython = (await runProcess('python3', ['--version'], { env: process.env }).catch(() => ({ code: null }))).code === 0;

describe('the demo', () => {
  it.skipIf(!hasPython)(
    'kills a trainer in the middle of a save: the bare one is stuck, under Holdfast it resumes and ends like its twin',
    async () => {
      const report = await playDemo({
        scenes: SCENES.filter(({ id }) => id === 'killed-save'),
        env: process.env,
        clock: realClock,
        signal: new AbortController().signal,
        keeps: false,
        audience: NOBODY,
      });
      const [played] = report.scenes;
      expect(played?.claims.filter(({ held }) => !held)).toEqual([]);
      expect(played?.claims).toHaveLength(4);
      expect(played?.bare.lives.map(({ code }) => code)).toEqual([137, 1]);
    },
  );

  it.skipIf(!hasPython)('ends on Ctrl-C and leaves neither a process nor a folder', async () => {
    using folder = tempFolder();
    const child = spawn(LAUNCHER, ['demo', '--no-color'], {
      env: { ...process.env, TMPDIR: folder.path },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    // The demo makes its folder after its first line. Ctrl-C must also end a trainer that is about
    // to start.
    while (readdirSync(folder.path).length === 0) await new Promise((resolve) => setImmediate(resolve));
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code).toBe(130);
    expect(readdirSync(folder.path)).toEqual([]);
    expect(processesOf(folder.path)).toEqual([]);
  });

  it('without Python names the missing requirement', async () => {
    const { code, stderr } = await runProcess(LAUNCHER, ['demo'], { env: { PATH: '/nonexistent' } });
    expect({ code, stderr }).toMatchObject({ code: 69, stderr: expect.stringContaining('error NO_PYTHON: the demo interrupts') as string });
  });
});
