import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { at } from '../../src/checkpoint/store/layout.ts';
import { readLedger } from '../../src/ledger/reader.ts';
import { LastWords } from '../support/last-words.ts';
import { mountStoppable, mountTmpfs, whyNoFuse } from '../support/mounts.ts';
import { ROOT } from '../support/run-process.ts';
import { supervisedRuns } from '../support/supervised-runs.ts';
import { tempFolder } from '../support/temp-folder.ts';

const TRAINER = join(ROOT, 'test/support/trainers/hands_over.py');
const reason = whyNoFuse();
const start = supervisedRuns();

describe('a disk that does not answer any more', () => {
  it.skipIf(reason !== null)(
    `while a save is sealed holds up neither the trainer nor the end at a deadline, and the next life has what lay in memory${reason === null ? '' : ` (skipped: ${reason})`}`,
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
});
