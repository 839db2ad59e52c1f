import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startAttempt } from '../src/store/attempt/attempt.ts';
import { openRun } from '../src/store/folder/store.ts';
import { seal } from './support/sealed-run.ts';
import { tempFolder } from './support/temp-folder.ts';

const stagedIn = (run: string): string[] => readdirSync(join(run, '.holdfast/attempts/1/staging'));

/** A process that has staged a save of the gang and waits for the order to commit it. */
async function stage(run: string, step: number): Promise<ChildProcess> {
  const saver = fork(join(import.meta.dirname, 'support/racing-writer.ts'), { stdio: 'inherit' });
  const answer = once(saver, 'message');
  saver.send({ kind: 'stage', run, gang: 'g', step });
  expect((await answer)[0]).toEqual({ kind: 'staged' });
  return saver;
}

async function kill(saver: ChildProcess): Promise<void> {
  const end = once(saver, 'exit');
  saver.kill('SIGKILL');
  await end;
}

it.skipIf(!existsSync('/proc/self/stat'))(
  'the next save of the attempt removes a save whose process was killed, and keeps one that is still running',
  async () => {
    using folder = tempFolder();
    const killed = await stage(folder.path, 1);
    const alive = await stage(folder.path, 2);
    try {
      expect(stagedIn(folder.path)).toHaveLength(2);
      await kill(killed);
      const store = openRun(folder.path);
      await seal(store, await startAttempt(store, { gang: 'g' }), { step: 3 });
      expect(stagedIn(folder.path)).toHaveLength(1);
      const answer = once(alive, 'message');
      alive.send({ kind: 'commit', delayMs: 0 });
      expect((await answer)[0]).toEqual({ kind: 'committed', name: 'step-2' });
      expect(readdirSync(folder.path).sort()).toEqual(['.holdfast', 'step-2', 'step-3']);
      expect(stagedIn(folder.path)).toEqual([]);
    } finally {
      await kill(alive);
    }
  },
);
