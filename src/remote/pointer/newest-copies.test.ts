import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps } from '../../../test/support/sealed-run.ts';
import { MEMORY, tempFolder } from '../../../test/support/temp-folder.ts';
import { realClock } from '../../core/clock.ts';
import { findSealed, rollBack, undoRollback } from '../../store/attempt/roll-back.ts';
import { scan } from '../../store/folder/scan.ts';
import { type OpenStore, openRun } from '../../store/folder/store.ts';
import { DirectoryStore } from '../backends/directory/directory-store.ts';
import { type Fetched, fetchNewest, type FetchOptions } from '../fetch/fetch.ts';
import { openJournal } from '../copy/journal.ts';
import { readPointer } from './pointer.ts';
import { UNLIMITED } from '../transfer/rate-limit.ts';
import { shareRollback } from './remote-rollback.ts';
import { shipCheckpoint } from '../copy/ship.ts';

interface Place {
  readonly folder: string;
  readonly store: OpenStore;
  readonly remote: DirectoryStore;
}

function placeIn(folder: string): Place {
  const [run, path] = [join(folder, 'run'), join(folder, 'copies')];
  mkdirSync(run);
  const remote = new DirectoryStore({ url: `file://${path}`, path, clock: realClock, signal: new AbortController().signal });
  return { folder, store: openRun(run), remote };
}

/** Ships the newest checkpoint that counts in the folder. */
async function shipNewest({ store, remote }: Place): Promise<void> {
  const [newest] = scan(store).sealed;
  if (newest === undefined) throw new Error('nothing is sealed');
  const journal = openJournal(store.path, remote.url);
  await shipCheckpoint(newest, { store, remote, stop: new AbortController(), journal, limit: UNLIMITED, parallel: 1, clock: realClock });
}

async function fetchTo(name: string, { folder, remote }: Place, isWanted?: FetchOptions['isWanted']): Promise<Fetched | null> {
  const stop = new AbortController();
  const options = { remote, stop, signal: stop.signal, folder: join(folder, name), limit: UNLIMITED, parallel: 2, clock: realClock };
  return fetchNewest({ ...options, ...(isWanted === undefined ? {} : { isWanted }) });
}

/**
 * Ships steps 100, 200 and 300, each of its own attempt. A rollback to 100 then moves the pointer
 * back.
 */
async function rolledBack(folder: string): Promise<Place> {
  const place = placeIn(folder);
  for (const step of [100, 200, 300]) {
    await sealSteps(place.store, `gang ${step}`, step);
    await shipNewest(place);
  }
  await rollBack(place.store, findSealed(place.store, '100'));
  await shipNewest(place);
  expect((await readPointer(place.remote))?.pointer).toMatchObject({ step: 100 });
  return place;
}

describe('the newest copy', () => {
  it('is the target of a rollback while the rollback holds', async () => {
    using folder = tempFolder(MEMORY);
    const place = await rolledBack(folder.path);
    expect(await fetchTo('back', place)).toMatchObject({ step: 100 });
  });

  it('is the excluded one again after the rollback is undone, although the pointer is behind', async () => {
    using folder = tempFolder(MEMORY);
    const place = await rolledBack(folder.path);
    undoRollback(place.store);
    // The folder that undid the rollback counts it before any other node knows.
    expect(await fetchTo('run', place)).toMatchObject({ step: 300, state: 'already' });
    await shareRollback(place.remote, place.store);
    expect((await readPointer(place.remote))?.pointer).toMatchObject({ step: 100 });
    expect(await fetchTo('back', place)).toMatchObject({ step: 300, state: 'fetched' });
  });

  it('is compared with the age of the caller’s checkpoint, whatever the pointer says', async () => {
    using folder = tempFolder(MEMORY);
    const place = await rolledBack(folder.path);
    undoRollback(place.store);
    const isNewer = ({ attempt }: { readonly attempt: number }): boolean => attempt > 2;
    expect(await fetchTo('run', place, isNewer)).toMatchObject({ step: 300 });
  });

  it('is the target of a later rollback', async () => {
    using folder = tempFolder(MEMORY);
    const place = await rolledBack(folder.path);
    await rollBack(place.store, findSealed(place.store, '200'));
    expect(await fetchTo('run', place)).toMatchObject({ step: 200 });
  });
});
