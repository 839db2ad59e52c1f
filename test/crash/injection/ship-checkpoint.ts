import { join } from 'node:path';
import { fetchCheckpoint } from '../../../src/remote/fetch/fetch.ts';
import { openJournal } from '../../../src/remote/copy/journal.ts';
import { parseLocation } from '../../../src/remote/backends/location.ts';
import { openStore } from '../../../src/remote/backends/open-store.ts';
import { UNLIMITED } from '../../../src/remote/transfer/rate-limit.ts';
import { shipCheckpoint } from '../../../src/remote/copy/ship.ts';
import { scan } from '../../../src/store/folder/scan.ts';
import { readRun } from '../../../src/store/folder/store.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { HoldfastError } from '../../../src/core/errors.ts';
import { createRng } from '../../../src/core/rng.ts';

/** Frameworks write files in pieces. Copies do the same here, so that kills land inside them. */
const PIECE_BYTES = 16 * 1024;

/** Ships a checkpoint of `work/run` to `work/remote`, as `holdfast ship --checkpoint NAME` does. */
export async function shipTo(work: string, name: string, clock: Clock, beforeShip?: () => void): Promise<void> {
  const run = join(work, 'run');
  const location = parseLocation(`file://${join(work, 'remote')}`);
  if (!location.ok) throw new Error(location.reason);
  const { url } = location.value;
  const store = readRun(run, { clock });
  const checkpoint = scan(store).sealed.find((sealed) => sealed.name === name);
  if (checkpoint === undefined) throw new HoldfastError('NOT_SEALED', { message: `${name} is not sealed` });
  const journal = openJournal(run, url);
  const stop = new AbortController();
  await using remote = openStore(location.value, { env: {}, clock, rng: createRng(1), signal: stop.signal, memory: journal });
  beforeShip?.();
  await shipCheckpoint(checkpoint, { store, remote, stop, journal, limit: { ...UNLIMITED, chunkBytes: PIECE_BYTES }, parallel: 2, clock });
}

/** Fetches the newest copy of `work/remote` into `work/run`, as `holdfast fetch` does. */
export async function fetchFrom(work: string, clock: Clock): Promise<void> {
  const location = parseLocation(`file://${join(work, 'remote')}`);
  if (!location.ok) throw new Error(location.reason);
  const stop = new AbortController();
  const { signal } = stop;
  const memory = { get: () => null, set() {}, delete() {} };
  await using remote = openStore(location.value, { env: {}, clock, rng: createRng(1), signal, memory });
  const limit = { ...UNLIMITED, chunkBytes: PIECE_BYTES };
  await fetchCheckpoint({ remote, stop, signal, limit, clock, folder: join(work, 'run'), checkpoint: null, parallel: 1 });
}
