import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seal } from '../../../test/support/sealed-run.ts';
import { MEMORY, tempFolder } from '../../../test/support/temp-folder.ts';
import { realClock } from '../../core/clock.ts';
import { startAttempt } from '../../store/attempt/attempt.ts';
import { scan, type SealedCheckpoint } from '../../store/folder/scan.ts';
import { openRun, type OpenStore } from '../../store/folder/store.ts';
import { DirectoryStore } from '../backends/directory/directory-store.ts';
import { UNLIMITED } from '../transfer/rate-limit.ts';
import { openJournal } from './journal.ts';
import { shipCheckpoint, type Shipped } from './ship.ts';
import { readShipped } from './shipped.ts';

interface Place {
  readonly store: OpenStore;
  readonly checkpoint: SealedCheckpoint;
  readonly ship: () => Promise<Shipped>;
}

async function placeIn(folder: string, name: string): Promise<Place> {
  const path = join(folder, 'run');
  mkdirSync(path);
  const store = openRun(path);
  await seal(store, await startAttempt(store, { gang: 'g' }), { step: 1 });
  renameSync(join(path, 'step-1'), join(path, name));
  const copies = join(folder, 'copies');
  const remote = new DirectoryStore({ url: `file://${copies}`, path: copies, clock: realClock, signal: new AbortController().signal });
  const [checkpoint] = scan(store).sealed;
  if (checkpoint === undefined) throw new Error('nothing is sealed');
  const how = { limit: UNLIMITED, parallel: 1, clock: realClock };
  const ship = (): Promise<Shipped> =>
    shipCheckpoint(checkpoint, { store, remote, stop: new AbortController(), journal: openJournal(path, remote.url), ...how });
  return { store, checkpoint, ship };
}

describe('the record of a copy', () => {
  it('is written even for a checkpoint with the longest name that a file system takes', async () => {
    using folder = tempFolder(MEMORY);
    const name = 'n'.repeat(255);
    const { store, checkpoint, ship } = await placeIn(folder.path, name);
    expect(await ship()).toMatchObject({ state: 'shipped', isRecorded: true });
    expect(readShipped(store, name, checkpoint.manifest.save)).toHaveLength(1);
    expect(await ship()).toMatchObject({ state: 'already' });
  });

  it('cannot make a proven copy fail, whatever prevents writing it', async () => {
    using folder = tempFolder(MEMORY);
    const { store, ship } = await placeIn(folder.path, 'step-1');
    rmSync(join(store.path, '.holdfast/shipped'), { recursive: true, force: true });
    writeFileSync(join(store.path, '.holdfast/shipped'), 'a file in the way');
    expect(await ship()).toMatchObject({ state: 'shipped', isRecorded: false });
  });
});
