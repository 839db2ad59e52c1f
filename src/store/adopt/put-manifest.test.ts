import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fixtureData } from '../../../test/support/fixture-copy.ts';
import { testRun } from '../../../test/support/sealed-run.ts';
import { adopt } from './adopt.ts';
import { realFs } from '../disk/durable-fs.ts';

const ACCEPT = { accept: 'anything', step: 2 } as const;
const saveIn = (manifestFile: string) => (JSON.parse(readFileSync(manifestFile, 'utf8')) as { save: string }).save;

describe('two processes that seal the same checkpoint at once', () => {
  it.each(['a directory', 'a file'])('both report the single seal of the checkpoint when it is %s', async (kind) => {
    using run = testRun();
    const path = join(run.path, 'checkpoint-2');
    if (kind === 'a directory') cpSync(fixtureData('hf-trainer'), path, { recursive: true, verbatimSymlinks: true });
    else writeFileSync(path, 'of a format of its own');
    const both = await Promise.all([adopt(run.store, path, ACCEPT), adopt(run.store, path, ACCEPT)]);
    expect(both.map(({ manifest, manifestFile }) => manifest.save === saveIn(manifestFile))).toEqual([true, true]);
    expect(both.filter(({ wasSealed }) => wasSealed)).toHaveLength(1);
  });

  it('both report it also when the second seals between the last check and the rename of the first', async () => {
    using run = testRun();
    const path = join(run.path, 'checkpoint-2');
    cpSync(fixtureData('hf-trainer'), path, { recursive: true, verbatimSymlinks: true });
    const elsewhere = await adopt(run.store, path, ACCEPT);
    const text = readFileSync(elsewhere.manifestFile);
    realFs.unlink(elsewhere.manifestFile);
    const fs = {
      ...realFs,
      writeFile(to: string, data: Uint8Array | string) {
        realFs.writeFile(to, data);
        // The first manifest is staged; now the second process renames its own into place.
        if (to.endsWith('/manifest')) writeFileSync(elsewhere.manifestFile, text);
      },
    };
    const late = await adopt({ ...run.store, fs }, path, ACCEPT);
    expect(late).toMatchObject({ wasSealed: true, manifest: { save: elsewhere.manifest.save } });
    expect(saveIn(elsewhere.manifestFile)).toBe(elsewhere.manifest.save);
  });
});
