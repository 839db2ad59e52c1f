import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { VirtualClock } from '../../core/clock.ts';
import { lastGood } from '../resume/last-good.ts';

/** A process that has the file open for writing until it is disposed. */
async function writerOf(file: string): Promise<AsyncDisposable> {
  const writer = spawn('sh', ['-c', 'exec 3>>"$0"; echo open; read _', file], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(writer.stdout, 'data');
  return {
    async [Symbol.asyncDispose]() {
      writer.stdin.end('\n');
      await once(writer, 'exit');
    },
  };
}

it.skipIf(process.platform !== 'linux')(
  'resume skips a sealed checkpoint on every call while a process has one of its files open for writing',
  async () => {
    const clock = new VirtualClock();
    using run = testRun({ clock });
    await sealSteps(run.store, 'g', 1, 2);
    {
      await using _ = await writerOf(join(run.path, 'step-2/shard-0'));
      const { checkpoint, skipped } = await lastGood(run.store);
      expect(checkpoint?.name).toBe('step-1');
      expect(skipped).toMatchObject([{ name: 'step-2', state: 'busy', code: 'FILE_OPEN_FOR_WRITING', quarantined: null }]);
    }
    // The clock has not moved: Holdfast repeats the check because its last answer was `busy`.
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-2');
    await using _ = await writerOf(join(run.path, 'step-2/shard-0'));
    await clock.advance(1000);
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-1');
  },
);
