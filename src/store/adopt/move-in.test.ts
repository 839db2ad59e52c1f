import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { killedAfterRenames } from '../../../test/crash/killed-after.ts';
import { fixtureData, flipBit } from '../../../test/support/fixture-copy.ts';
import { testRun, type TestRun } from '../../../test/support/sealed-run.ts';
import { adopt } from './adopt.ts';
import { startAttempt } from '../attempt/attempt.ts';
import { realFs } from '../disk/durable-fs.ts';
import { lastGood } from '../resume/last-good.ts';

/**
 * A checkpoint to seal from elsewhere: its fixture, its name, and the paths that a user may give
 * for it.
 */
const SOURCES = [
  ['a single file', 'torch-zip-train', 'checkpoint.pt', ['checkpoint.pt']],
  ['a set of files', 'tf-sharded', 'ckpt-100', ['ckpt-100', 'ckpt-100.index', 'ckpt-100.data-00001-of-00003']],
] as const;

/** Copies the files into a folder beside the run, on the same volume. */
function elsewhere(run: TestRun, fixture: string, name: string): string {
  const home = join(run.path, 'export');
  mkdirSync(home);
  for (const file of readdirSync(fixtureData(fixture))) {
    if (fixture === 'torch-zip-train') cpSync(join(fixtureData(fixture), file), join(home, name));
    else if (file.startsWith(name)) cpSync(join(fixtureData(fixture), file), join(home, file));
  }
  return home;
}

function bytesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile() && !entry.name.endsWith('.holdfast.json'));
  return Object.fromEntries(files.map(({ name }) => [name, readFileSync(join(folder, name)).toString('base64')]));
}

/** Seals it into the run and fails after this many renames; false when there were fewer. */
async function killedSeal(run: TestRun, path: string, renames: number): Promise<boolean> {
  let isDone = false;
  await killedAfterRenames(renames, realFs, async (fs) => {
    await adopt({ ...run.store, fs }, path, { step: 100 });
    isDone = true;
  });
  return !isDone;
}

describe.each(SOURCES)('sealing %s from elsewhere into a run', (_, fixture, name, given) => {
  it('killed after any of its renames, is finished by the same command', async () => {
    let kills = 0;
    for (let isKilled = true; isKilled; kills++) {
      for (const again of given) {
        using run = testRun();
        await startAttempt(run.store, { gang: 'g' });
        const home = elsewhere(run, fixture, name);
        const before = bytesIn(home);
        isKilled = await killedSeal(run, join(home, given[0]), kills + 1);
        const isMoved = existsSync(join(run.path, `${name}.holdfast.json`));
        const { checkpoint: meanwhile } = await lastGood(run.store);
        expect(meanwhile?.name ?? null).toBe(isMoved ? name : null);
        if (!isMoved) await adopt(run.store, join(home, again), { step: 100 });
        expect(readdirSync(home)).toEqual([]);
        expect(bytesIn(run.path)).toEqual(before);
        expect((await lastGood(run.store, { level: 'deep' })).checkpoint).toMatchObject({ name, kind: 'files' });
      }
    }
    expect(kills).toBeGreaterThan(2);
  });

  it('is never finished with a file that differs from its seal', async () => {
    using run = testRun();
    await startAttempt(run.store, { gang: 'g' });
    const home = elsewhere(run, fixture, name);
    await killedSeal(run, join(home, given[0]), 2);
    const [moved = ''] = Object.keys(bytesIn(run.path));
    flipBit(join(run.path, moved), 200);
    await expect(adopt(run.store, join(home, name), { step: 100 })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_GOOD' });
    expect(existsSync(join(home, `${name}.holdfast.json`))).toBe(true);
  });

  it('is refused before any write when one of its names is taken in the run', async () => {
    using run = testRun();
    const home = elsewhere(run, fixture, name);
    const files = Object.keys(bytesIn(home));
    for (const taken of [...files, `${name}.holdfast.json`]) {
      writeFileSync(join(run.path, taken), 'somebody else’s', { flag: 'w' });
      await expect(adopt(run.store, join(home, given[0]), { step: 100 })).rejects.toMatchObject({ code: 'NAME_TAKEN' });
      expect(readdirSync(home)).toEqual(files);
      expect(readFileSync(join(run.path, taken), 'utf8')).toBe('somebody else’s');
      realFs.unlink(join(run.path, taken));
    }
  });

  it('replaces no file that another process adds at the same time, and finishes once that is gone', async () => {
    const members = fixture === 'torch-zip-train' ? [name] : readdirSync(fixtureData(fixture)).filter((file) => file.startsWith(name));
    for (const taken of [...members, `${name}.holdfast.json`]) {
      using run = testRun();
      await startAttempt(run.store, { gang: 'g' });
      const home = elsewhere(run, fixture, name);
      const before = bytesIn(home);
      let syncs = 0;
      const fs = {
        ...realFs,
        // The last sync of the source folder is the one right before the files move.
        fsyncFolder(folder: string) {
          realFs.fsyncFolder(folder);
          if (folder === home && existsSync(join(home, `${name}.holdfast.json`)) && syncs++ > 0)
            writeFileSync(join(run.path, taken), 'somebody else’s');
        },
      };
      await expect(adopt({ ...run.store, fs }, join(home, given[0]), { step: 100 })).rejects.toMatchObject({ code: 'NAME_TAKEN' });
      expect(readFileSync(join(run.path, taken), 'utf8')).toBe('somebody else’s');
      realFs.unlink(join(run.path, taken));
      await adopt(run.store, join(home, name), { step: 100 });
      expect(bytesIn(run.path)).toEqual(before);
    }
  });

  it('moves nothing when the manifest there belongs to another run', async () => {
    using run = testRun();
    using other = testRun();
    await startAttempt(run.store, { gang: 'g' });
    const home = elsewhere(run, fixture, name);
    await killedSeal(run, join(home, given[0]), 2);
    await expect(adopt({ ...other.store, path: run.path }, join(home, name))).rejects.toMatchObject({
      code: expect.any(String) as unknown,
    });
    expect(existsSync(join(home, `${name}.holdfast.json`))).toBe(true);
    expect(existsSync(join(run.path, `${name}.holdfast.json`))).toBe(false);
  });
});

describe('sealing a folder from elsewhere into a run', () => {
  it('is refused before any write when its name is taken in the run', async () => {
    using run = testRun();
    const path = join(run.path, 'export/step-100');
    cpSync(fixtureData('torch-legacy-train'), path, { recursive: true });
    mkdirSync(join(run.path, 'step-100'));
    const before = readdirSync(path);
    await expect(adopt(run.store, path)).rejects.toMatchObject({ code: 'NAME_TAKEN' });
    expect(readdirSync(path)).toEqual(before);
  });

  it('reports the path in the run when it was moved there before', async () => {
    using run = testRun();
    const path = join(run.path, 'export/step-100');
    cpSync(fixtureData('torch-legacy-train'), path, { recursive: true });
    await adopt(run.store, path);
    await expect(adopt(run.store, path)).rejects.toMatchObject({
      code: 'PATH_NOT_FOUND',
      hint: expect.stringContaining('moved') as unknown,
    });
  });
});
