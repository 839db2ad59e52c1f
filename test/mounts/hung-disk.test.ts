import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { at } from '../../src/checkpoint/store/layout.ts';
import { readLedger } from '../../src/ledger/reader.ts';
import { LastWords } from '../support/last-words.ts';
import { mountStoppable, mountTmpfs, whyNoFuse } from '../support/mounts.ts';
import { ROOT } from '../support/run-process.ts';
import { supervisedRuns } from '../support/supervised-runs.ts';
import { trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const TRAINER = join(ROOT, 'test/support/trainers/hands_over.py');
const reason = whyNoFuse();
const skipped = reason === null ? '' : ` (skipped: ${reason})`;
const start = supervisedRuns();

/** Resolves when no thread of a process that was stopped is in the kernel any more: what a server has begun to answer could not be given up by anybody. */
async function stopped(pid: number): Promise<void> {
  const isStill = (thread: string): boolean => /^State:\s+T/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'latin1'));
  while (!readdirSync(`/proc/${pid}/task`).every(isStill)) await new Promise((resolve) => setImmediate(resolve));
}

describe('a disk that does not answer any more', () => {
  it.skipIf(reason !== null)(
    `while a save is sealed holds up neither the trainer nor the end at a deadline, and the next life has what lay in memory${skipped}`,
    async () => {
      using folder = tempFolder();
      using stage = mountTmpfs();
      using words = new LastWords(folder.path);
      const [dir, save, handOver] = [join(folder.path, 'run'), join(folder.path, 'save'), join(folder.path, 'hand-over')];
      const args = ['--dir', dir, '--stage', stage.path, '--every', '1h', '--grace', '3s', '--termination-log', words.path];
      const first = start({ args, command: ['python3', TRAINER, save, handOver] });
      // How large a save is must be known before one goes to memory.
      await first.line(/sealed step 5 /);
      {
        // What is to become a checkpoint goes through here.
        using disk = mountStoppable(at.staging(dir, 1));
        writeFileSync(save, '');
        await first.line(/^written/);
        disk.hang();
        writeFileSync(handOver, '');
        await first.line(/^trains on/);
        first.signal('SIGTERM');
        expect((await first.ended).code).toBe(143);
      }
      expect(words.take()).toMatchObject([
        { provisional: true, end: null },
        {
          provisional: false,
          exitCode: 143,
          end: 'interrupted',
          lastGoodStep: 5,
          flush: expect.stringMatching(/^(abandoned|refused)$/) as string,
        },
      ]);
      const ends = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'attempt-ended' ? [event.exitCode] : []));
      expect(ends).toEqual([143]);
      const second = start({ args, command: ['true'] });
      await second.line(/sealed step 10 .*, which an earlier life had left in memory/);
      expect((await second.ended).code).toBe(0);
    },
  );

  it.skipIf(reason !== null)(
    `and would say whether a newer attempt has taken over is not asked for that at a deadline${skipped}`,
    async () => {
      using folder = tempFolder();
      using stage = mountTmpfs();
      const [dir, save, handOver] = [join(folder.path, 'run'), join(folder.path, 'save'), join(folder.path, 'hand-over')];
      const args = ['--dir', dir, '--stage', stage.path, '--every', '1h', '--grace', '20s'];
      const run = start({ args, command: ['python3', TRAINER, save, handOver] });
      await run.line(/sealed step 5 /);
      using attempts = mountStoppable(dirname(at.attempt(dir, 1)));
      using disk = mountStoppable(at.staging(dir, 1));
      // Nobody could unmount what lies in it.
      using after = new DisposableStack();
      after.defer(() => attempts.resume());
      writeFileSync(save, '');
      await run.line(/^written/);
      disk.hang();
      writeFileSync(handOver, '');
      await run.line(/^trains on/);
      run.signal('SIGTERM');
      await run.line(/left: SIGTERM leaves/);
      // It hears the next one when it has told whoever replaces it.
      run.signal('SIGUSR1');
      await run.line(/notice: a save was asked for/);
      attempts.hang();
      expect((await run.ended).code).toBe(143);
    },
  );

  it.skipIf(reason !== null).for([{ isShipped: false }, { isShipped: true }])(
    `does not hold up the end at a deadline when the trainer has saved there by itself, shipped: $isShipped, and that is told${skipped}`,
    async ({ isShipped }) => {
      using folder = tempFolder();
      const dir = join(folder.path, 'out');
      const ship = isShipped ? ['--ship', `file://${join(folder.path, 'copies')}`] : [];
      mkdirSync(join(dir, 'step-5'), { recursive: true });
      const run = start({ args: ['--watch', dir, ...ship, '--grace', '2s'], command: ['sh', '-c', 'echo ready; exec sleep 1000'] });
      await run.line(/^ready/);
      run.signal('SIGSTOP');
      await stopped(run.pid);
      using disk = mountStoppable(join(dir, 'step-5'));
      disk.hang();
      run.signal('SIGTERM');
      run.signal('SIGCONT');
      const { code, stderr } = await run.ended;
      expect(stderr).toContain('what the trainer saved last is not sealed: there was no time left; the next start looks at it');
      expect(code).toBe(143);
    },
  );

  it.skipIf(reason !== null)(`does not hold up the end at a deadline when copies go there, and that is told${skipped}`, async () => {
    using folder = tempFolder();
    const [dir, copies] = [join(folder.path, 'run'), join(folder.path, 'copies')];
    mkdirSync(copies);
    using disk = mountStoppable(copies);
    const args = ['--dir', dir, '--ship', `file://${copies}/run`, '--every', '1h', '--grace', '3s'];
    const run = start({ args, command: trainerCommand('dies', 'sdk') });
    await run.line(/^ready/);
    // There is nothing to ship before.
    run.signal('SIGSTOP');
    await stopped(run.pid);
    disk.hang();
    run.signal('SIGUSR1');
    run.signal('SIGCONT');
    await run.line(/sealed step/);
    run.signal('SIGTERM');
    const { code, stderr } = await run.ended;
    expect(stderr).toMatch(/steps? \d+.* not shipped: /);
    expect(code).toBe(143);
  });
});
