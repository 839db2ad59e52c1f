import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openJournal } from '../../src/remote/copy/journal.ts';
import { UNLIMITED } from '../../src/remote/transfer/rate-limit.ts';
import { type Shipped, shipCheckpoint } from '../../src/remote/copy/ship.ts';
import { findSealed } from '../../src/store/attempt/roll-back.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { realClock } from '../../src/core/clock.ts';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { findServers, type Server, startServer } from './servers.ts';
import { openAt } from './ship-place.ts';
import { sealCheckpoint } from './shippable-run.ts';

const binaries = findServers();
const why = 'reason' in binaries ? binaries.reason : null;
const HOURS_MS = 3_600_000;
const PLAN = { size: 0, crc32c: 0, parts: [] };

describe.skipIf(why !== null)(`old unfinished uploads${why === null ? '' : ` (not here: ${why})`}`, () => {
  const folder = tempFolder(MEMORY);
  const run = join(folder.path, 'run');
  let server: Server;
  beforeAll(async () => {
    server = await startServer('folder' in binaries ? binaries.folder : '', 'versitygw');
    for (const step of [1, 2]) await sealCheckpoint(run, step, { 'a.dat': 10 });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const later = (hours: number): number => Date.now() + hours * HOURS_MS;

  /**
   * Ships a step while the store's clock and ours are this many hours ahead. With null, the store's
   * listing of uploads has no date.
   */
  async function shipLater(url: string, step: string, hours: { readonly theirs: number | null; readonly ours: number }): Promise<Shipped> {
    const { theirs, ours } = hours;
    // Other requests keep their date: a client with a wrong clock learns the time from a refusal.
    const isTold = (path: string): boolean => theirs !== null || !path.includes('uploads=');
    await using proxy = await startFaultProxy(server.port, ({ path }) => ({
      kind: 'date',
      date: isTold(path) ? new Date(later(theirs ?? 0)) : null,
    }));
    await using remote = openAt(url, { ...server.env, [server.endpointVariable]: proxy.url }, { now: () => later(ours) });
    const options = {
      remote,
      stop: new AbortController(),
      journal: openJournal(run, url),
      limit: UNLIMITED,
      parallel: 1,
      clock: realClock,
    };
    const store = readRun(run);
    return await shipCheckpoint(findSealed(store, step), { store, ...options });
  }

  it.each(['', '/runs'])(
    'are removed when they belong to copies of the run, and other programs’ uploads stay (below "%s")',
    async (prefix) => {
      const url = `s3://${server.bucket}${prefix}`;
      await shipLater(url, '1', { theirs: 0, ours: 0 });
      await using own = openAt(url, server.env);
      const ours = 'step-1/left.dat';
      const others = ['others/model.bin', 'b/step-1/left.dat', 'dump.tar'];
      for (const key of [ours, ...others]) await own.openUpload(key, PLAN);
      expect(await shipLater(url, '1', { theirs: 23, ours: 0 })).toMatchObject({ removedUploads: 0 });
      // A local clock that is a year ahead or does not move removes nothing.
      expect(await shipLater(url, '1', { theirs: 0, ours: 8760 })).toMatchObject({ removedUploads: 0 });
      expect(await shipLater(url, '2', { theirs: 25, ours: 0 })).toMatchObject({ removedUploads: 1 });
      expect(await own.removeUploads(ours)).toBe(0);
      for (const key of others) expect(await own.removeUploads(key)).toBe(1);
    },
  );

  it('are aged by the local clock if the store sends no date', async () => {
    const url = `s3://${server.bucket}/untold`;
    await shipLater(url, '1', { theirs: null, ours: 0 });
    await using own = openAt(url, server.env);
    await own.openUpload('step-1/left.dat', PLAN);
    expect(await shipLater(url, '1', { theirs: null, ours: 23 })).toMatchObject({ removedUploads: 0 });
    expect(await shipLater(url, '1', { theirs: null, ours: 25 })).toMatchObject({ removedUploads: 1 });
  });
});
