import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { killedAfterRenames } from '../../../test/crash/killed-after.ts';
import { sealFilesBeside, testRun, type TestRun } from '../../../test/support/sealed-run.ts';
import { adopt } from '../adopt/adopt.ts';
import { startAttempt } from '../attempt/attempt.ts';
import { type DurableFs, realFs } from '../disk/durable-fs.ts';
import { emptyTrash } from './trash.ts';
import { lastGood } from '../resume/last-good.ts';
import { prune } from '../retention/prune.ts';
import { listQuarantine, restore } from '../resume/quarantine.ts';

const RETENTION = { last: 1, every: null, withinMs: null };

/** A run of two single-file checkpoints: an older one that may go, and the last good. */
async function runOfFiles(): Promise<TestRun> {
  const run = testRun();
  try {
    await sealFilesBeside(run.store, 1, 2);
    return run;
  } catch (thrown) {
    run[Symbol.dispose]();
    throw thrown;
  }
}

/** A prune that was killed right after it moved the older manifest to the trash. */
async function pruneKilled(run: TestRun): Promise<void> {
  await killedAfterRenames(1, realFs, (fs) => prune({ ...run.store, fs }, { retention: RETENTION }));
  expect(namesIn(run)).toEqual(['m1.dat', 'm2.dat', 'm2.dat.holdfast.json']);
}

const namesIn = ({ path }: TestRun): string[] => readdirSync(path).filter((name) => name !== '.holdfast');
const trashOf = ({ path }: TestRun): string[] => readdirSync(join(path, '.holdfast/trash'));
const KEPT = ['m2.dat', 'm2.dat.holdfast.json'];

describe('a killed prune of a single-file checkpoint', () => {
  it('is finished by the next prune, after a kill behind any rename', async () => {
    for (const renames of [1, 2]) {
      using run = await runOfFiles();
      await killedAfterRenames(renames, realFs, (fs) => prune({ ...run.store, fs }, { retention: RETENTION }));
      await prune(run.store, { retention: RETENTION });
      expect(namesIn(run)).toEqual(KEPT);
      expect(trashOf(run)).toEqual([]);
    }
  });

  it('stays for the next prune if a process only tidies up', async () => {
    using run = await runOfFiles();
    await pruneKilled(run);
    emptyTrash(run.store);
    await startAttempt(run.store, { gang: 'the next' });
    await prune(run.store, { retention: RETENTION });
    expect(namesIn(run)).toEqual(KEPT);
  });

  it('never deletes a file of the same name that was written since', async () => {
    using run = await runOfFiles();
    await pruneKilled(run);
    const file = join(run.path, 'm1.dat');
    const { mtime } = statSync(file);
    writeFileSync(file, 'the BYTES of step 1');
    await prune(run.store, { retention: RETENTION });
    expect(readFileSync(file, 'utf8')).toBe('the BYTES of step 1');
    expect(trashOf(run)).toEqual([]);
    // The same holds when its mtime claims the old age.
    using other = await runOfFiles();
    await pruneKilled(other);
    writeFileSync(join(other.path, 'm1.dat'), 'the BYTES of step 1');
    utimesSync(join(other.path, 'm1.dat'), mtime, new Date(0));
    await prune(other.store, { retention: RETENTION });
    expect(readFileSync(join(other.path, 'm1.dat'), 'utf8')).toBe('the BYTES of step 1');
    expect(trashOf(other)).toEqual([]);
  });

  it('never deletes a file that was copied back or sealed again', async () => {
    using run = await runOfFiles();
    await pruneKilled(run);
    const file = join(run.path, 'm1.dat');
    const later = new Date(Date.now() + 60_000);
    utimesSync(file, later, later);
    await prune(run.store, { retention: RETENTION });
    expect(namesIn(run)).toContain('m1.dat');
    using sealed = await runOfFiles();
    await pruneKilled(sealed);
    await adopt(sealed.store, join(sealed.path, 'm1.dat'), { step: 3, accept: 'anything' });
    await prune(sealed.store, { retention: { ...RETENTION, last: 2 } });
    expect((await lastGood(sealed.store, { level: 'deep' })).checkpoint?.name).toBe('m1.dat');
    expect(trashOf(sealed)).toEqual([]);
  });
});

describe('a file that replaces a leftover of a killed prune', () => {
  /**
   * Another process replaces the file right before its move, and optionally puts a second one there
   * after it.
   */
  function replacing(run: TestRun, isAgain: boolean): DurableFs {
    return {
      ...realFs,
      rename(from, to) {
        const isTaken = from === join(run.path, 'm1.dat');
        if (isTaken) writeFileSync(from, 'the first that is new');
        realFs.rename(from, to);
        if (isTaken && isAgain) writeFileSync(from, 'the second');
      },
    };
  }

  it('is restored when the next prune moves it by mistake', async () => {
    using run = await runOfFiles();
    await pruneKilled(run);
    await prune({ ...run.store, fs: replacing(run, false) }, { retention: RETENTION });
    expect(readFileSync(join(run.path, 'm1.dat'), 'utf8')).toBe('the first that is new');
  });

  it('is restored only under a free name, and waits in the trash until then', async () => {
    using run = await runOfFiles();
    await pruneKilled(run);
    await prune({ ...run.store, fs: replacing(run, true) }, { retention: RETENTION });
    for (const _ of [1, 2]) {
      expect(readFileSync(join(run.path, 'm1.dat'), 'utf8')).toBe('the second');
      expect(readFileSync(join(run.path, '.holdfast/trash', trashOf(run)[0] ?? '', 'm1.dat'), 'utf8')).toBe('the first that is new');
      await prune(run.store, { retention: RETENTION });
    }
  });
});

describe('a single file on its way to quarantine', () => {
  it('survives a kill during its move, and returns beside its manifest', async () => {
    for (const renames of [2, 3]) {
      using run = await runOfFiles();
      writeFileSync(join(run.path, 'm2.dat'), 'cut');
      await killedAfterRenames(renames, realFs, (fs) => lastGood({ ...run.store, fs }));
      expect((await lastGood(run.store)).checkpoint?.name).toBe('m1.dat');
      expect(listQuarantine(run.store)).toMatchObject([{ name: 'm2.dat', code: 'MANIFEST_SIZE' }]);
      restore(run.store, 'm2.dat');
      expect(namesIn(run)).toEqual(['m1.dat', 'm1.dat.holdfast.json', ...KEPT]);
    }
  });

  it('is reported at its real path, even when only its seal was left', async () => {
    using run = await runOfFiles();
    realFs.unlink(join(run.path, 'm2.dat'));
    const { skipped } = await lastGood(run.store);
    const entry = join(run.path, '.holdfast/quarantine/m2.dat');
    expect(skipped).toMatchObject([{ name: 'm2.dat', code: 'FILE_MISSING', quarantined: entry }]);
    expect(listQuarantine(run.store)).toMatchObject([{ path: entry }]);
  });
});
