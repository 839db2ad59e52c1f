import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkSealed } from '../src/store/folder/check-sealed.ts';
import { scan } from '../src/store/folder/scan.ts';
import { readRun } from '../src/store/folder/store.ts';
import { verifyAll } from './support/fault-run.ts';
import { flipBit } from './support/fixture-copy.ts';
import { readFixtures } from './support/fixtures.ts';
import { additions, isManifest, type SealedFixture, sealFixture } from './support/seal-fixture.ts';
import { tempFolder } from './support/temp-folder.ts';

/**
 * Names the newest checkpoint of a run and belongs to none: `verify` treats it as evidence about
 * the run.
 */
const TRACKER = 'checkpoint';

describe.each(readFixtures().map((fixture) => ({ id: fixture.id, fixture })))('$id, sealed', ({ fixture }) => {
  it('has unchanged files and one manifest more, and the manifest proves it', async () => {
    using scratch = tempFolder();
    const sealed = await sealFixture(fixture, scratch.path);
    const added = additions(sealed);
    expect(added.length).toBeGreaterThan(0);
    expect(added.filter((file) => !isManifest(file))).toEqual([]);
    const proven = fixture.content.optimizer ? 'RESUMABLE' : 'WEIGHTS_ONLY';
    expect(new Set(await verdictsOf(sealed))).toEqual(new Set([proven]));
    expect(await brokenIn(sealed)).toEqual([]);
  });

  it('reveals a flipped bit in any of its files', async () => {
    using scratch = tempFolder();
    const sealed = await sealFixture(fixture, scratch.path);
    const missed = [];
    for (const file of sealed.files.filter((path) => statSync(path).size > 0)) {
      const middle = Math.floor(statSync(file).size / 2);
      flipBit(file, middle);
      const [verdicts, codes] = [await verdictsOf(sealed), await brokenIn(sealed)];
      flipBit(file, middle);
      const isFound = verdicts.includes('CORRUPT') || basename(file) === TRACKER;
      if (!isFound || codes.join() !== 'MANIFEST_CHECKSUM') missed.push({ file, verdicts, codes });
    }
    expect(missed).toEqual([]);
  });
});

async function verdictsOf({ path }: SealedFixture): Promise<readonly string[]> {
  const [report] = await verifyAll([path], 'deep');
  return (report?.checkpoints ?? []).map(({ verdict }) => verdict);
}

/** The faults of the sealed checkpoints, each compared with its seal. */
async function brokenIn({ runs }: SealedFixture): Promise<readonly string[]> {
  const codes: string[] = [];
  for (const store of runs.map((run) => readRun(run))) {
    for (const sealed of scan(store).sealed) {
      const checked = await checkSealed(store, sealed, 'deep');
      if (checked.state !== 'good') codes.push(checked.code);
    }
  }
  return codes;
}
