import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { at } from '../../src/seal/names.ts';
import { readLedger } from '../../src/ledger/reader.ts';
import { LastWords } from '../support/last-words.ts';
import { mountStoppable, mountTmpfs, type StoppableMount, whyNoFuse } from '../support/mounts.ts';
import { ROOT } from '../support/run-process.ts';
import { stopProcess } from '../support/stop-process.ts';
import { supervisedRuns } from '../support/supervised-runs.ts';
import { trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const TRAINER = join(ROOT, 'test/support/trainers/hands_over.py');
const reason = whyNoFuse();
const skipped = reason === null ? '' : ` (skipped: ${reason})`;
const start = supervisedRuns();

const hangable: StoppableMount[] = [];

/** A mount that also answers again after a test that did not come to its end. */
function mountHangable(path: string): StoppableMount {
  const made = mountStoppable(path);
  hangable.push(made);
  return made;
}

// It runs before the hook that ends the runs, which may wait for the disk.
afterEach(() => {
  for (const disk of hangable.splice(0)) disk.resume();
});

describe('a disk that stops answering', () => {
  it.skipIf(reason !== null)(
    `during a seal delays neither the trainer nor the end at a deadline, and the next attempt has the save from memory${skipped}`,
    async () => {
      using folder = tempFolder();
      using stage = mountTmpfs();
      using words = new LastWords(folder.path);
      const [dir, save, handOver] = [join(folder.path, 'run'), join(folder.path, 'save'), join(folder.path, 'hand-over')];
      const args = ['--dir', dir, '--stage', stage.path, '--every', '1h', '--grace', '3s', '--termination-log', words.path];
      const first = start({ args, command: ['python3', TRAINER, save, handOver] });
      // A save goes to memory only if its size is known.
      await first.line(/sealed step 5 /);
      {
        // Future checkpoints pass through here.
        using disk = mountHangable(at.staging(dir, 1));
        writeFileSync(save, '');
        await first.line(/^written/);
        await disk.hang();
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
      await second.line(/sealed step 10 .*, which an earlier run of the supervisor left in memory/);
      expect((await second.ended).code).toBe(0);
    },
  );

  it.skipIf(reason !== null)(`and holds the fence of newer attempts is not read at a deadline${skipped}`, async () => {
    using folder = tempFolder();
    using stage = mountTmpfs();
    const [dir, save, handOver] = [join(folder.path, 'run'), join(folder.path, 'save'), join(folder.path, 'hand-over')];
    const args = ['--dir', dir, '--stage', stage.path, '--every', '1h', '--grace', '20s'];
    const run = start({ args, command: ['python3', TRAINER, save, handOver] });
    await run.line(/sealed step 5 /);
    using attempts = mountHangable(dirname(at.attempt(dir, 1)));
    using disk = mountHangable(at.staging(dir, 1));
    // A hung mount below it could not be unmounted.
    using after = new DisposableStack();
    after.defer(() => attempts.resume());
    writeFileSync(save, '');
    await run.line(/^written/);
    await disk.hang();
    writeFileSync(handOver, '');
    await run.line(/^trains on/);
    run.signal('SIGTERM');
    await run.line(/left: SIGTERM leaves/);
    // It gets the next signal after it has reported to its replacement.
    run.signal('SIGUSR1');
    await run.line(/notice: a save was asked for/);
    await attempts.hang();
    expect((await run.ended).code).toBe(143);
  });

  it.skipIf(reason !== null).for([{ isShipped: false }, { isShipped: true }])(
    `does not delay the end at a deadline when the trainer saved there itself (shipped: $isShipped), and the log says so${skipped}`,
    async ({ isShipped }) => {
      using folder = tempFolder();
      const dir = join(folder.path, 'out');
      const ship = isShipped ? ['--ship', `file://${join(folder.path, 'copies')}`] : [];
      mkdirSync(join(dir, 'step-5'), { recursive: true });
      const run = start({ args: ['--watch', dir, ...ship, '--grace', '2s'], command: ['sh', '-c', 'echo ready; exec sleep 1000'] });
      await run.line(/^ready/);
      await stopProcess(run.pid);
      using disk = mountHangable(join(dir, 'step-5'));
      await disk.hang();
      run.signal('SIGTERM');
      run.signal('SIGCONT');
      const { code, stderr } = await run.ended;
      expect(stderr).toContain('the last save of the trainer is not sealed: there was no time left; the next start checks it');
      expect(code).toBe(143);
    },
  );

  it.skipIf(reason !== null)(`does not delay the end at a deadline when copies go there, and the log says so${skipped}`, async () => {
    using folder = tempFolder();
    const [dir, copies] = [join(folder.path, 'run'), join(folder.path, 'copies')];
    mkdirSync(copies);
    using disk = mountHangable(copies);
    const args = ['--dir', dir, '--ship', `file://${copies}/run`, '--every', '1h', '--grace', '3s'];
    const run = start({ args, command: trainerCommand('dies', 'sdk') });
    await run.line(/^ready/);
    // Before this there is nothing to ship.
    await stopProcess(run.pid);
    await disk.hang();
    run.signal('SIGUSR1');
    run.signal('SIGCONT');
    await run.line(/sealed step/);
    run.signal('SIGTERM');
    const { code, stderr } = await run.ended;
    expect(stderr).toMatch(/steps? \d+.* not shipped: /);
    expect(code).toBe(143);
  });
});
