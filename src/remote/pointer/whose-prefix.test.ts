import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps } from '../../../test/support/sealed-run.ts';
import { MEMORY, tempFolder } from '../../../test/support/temp-folder.ts';
import { realClock } from '../../core/clock.ts';
import { scan } from '../../store/folder/scan.ts';
import { openRun, type OpenStore } from '../../store/folder/store.ts';
import { DirectoryStore } from '../backends/directory/directory-store.ts';
import { openJournal } from '../copy/journal.ts';
import { shipCheckpoint } from '../copy/ship.ts';
import { fetchNewest } from '../fetch/fetch.ts';
import { UNLIMITED } from '../transfer/rate-limit.ts';
import { takeAttemptNumber } from './attempt-numbers.ts';
import { readPointer } from './pointer.ts';
import { claimPrefix, findOwner, judgeOwner, type OwnerEvidence } from './whose-prefix.ts';

const NOTHING: OwnerEvidence = { told: null, pointer: null, copies: new Set(), attempt: null, isUsed: false };

describe('the owner of a prefix', () => {
  it.each<[string, Partial<OwnerEvidence>, string | null]>([
    ['no run when nothing is there', {}, null],
    ['the run that run.json names', { told: 'a' }, 'a'],
    ['the run of the copies when run.json is missing', { copies: new Set(['a']), isUsed: true }, 'a'],
    ['the run of the pointer when run.json and all copies are missing', { pointer: 'a', isUsed: true }, 'a'],
    ['the run of the newest attempt number when nothing else is left', { attempt: 'a', isUsed: true }, 'a'],
    ['the run with copies when the pointer is another run’s', { told: 'a', copies: new Set(['a']), pointer: 'b', isUsed: true }, 'a'],
    ['the run that pointer and copies agree on beside a foreign copy', { copies: new Set(['a', 'b']), pointer: 'b', isUsed: true }, 'b'],
  ])('%s', (_, evidence, owner) => expect(judgeOwner({ ...NOTHING, ...evidence })).toEqual({ owner }));

  it.each<[string, Partial<OwnerEvidence>]>([
    ['run.json names another run than the copies', { told: 'b', copies: new Set(['a']), isUsed: true }],
    ['run.json names another run than the pointer', { told: 'b', pointer: 'a', isUsed: true }],
    ['run.json names another run than the newest attempt number', { told: 'b', attempt: 'a', isUsed: true }],
    ['two runs have copies, and pointer and run.json disagree', { told: 'a', pointer: 'b', copies: new Set(['a', 'b']), isUsed: true }],
    ['run.json is missing and two runs have copies', { copies: new Set(['a', 'b']), isUsed: true }],
    ['run.json is missing and only unreadable objects of a run are left', { isUsed: true }],
  ])('is refused when %s', (_, evidence) => {
    expect(judgeOwner({ ...NOTHING, ...evidence })).toHaveProperty('problem');
  });
});

describe('a prefix whose run.json is gone', () => {
  async function ship(store: OpenStore, remote: DirectoryStore): Promise<void> {
    const stop = new AbortController();
    const how = { limit: UNLIMITED, parallel: 1, clock: realClock };
    for (const checkpoint of scan(store).sealed.toReversed())
      await shipCheckpoint(checkpoint, { store, remote, stop, journal: openJournal(store.path, remote.url), ...how });
  }

  async function shipped(
    folder: string,
  ): Promise<{ readonly store: OpenStore; readonly remote: DirectoryStore; readonly runFile: string }> {
    const path = join(folder, 'copies');
    mkdirSync(join(folder, 'run'));
    const store = openRun(join(folder, 'run'));
    const remote = new DirectoryStore({ url: `file://${path}`, path, clock: realClock, signal: new AbortController().signal });
    await sealSteps(store, 'gang', 40, 80);
    await ship(store, remote);
    return { store, remote, runFile: join(path, '.holdfast/run.json') };
  }

  it('still belongs to the run of its copies, and the next ship makes run.json again', async () => {
    using folder = tempFolder(MEMORY);
    const { store, remote, runFile } = await shipped(folder.path);
    rmSync(runFile);
    expect(await findOwner(remote)).toBe(store.run);
    await expect(claimPrefix(remote, 'another run')).rejects.toMatchObject({ code: 'REMOTE_CONFLICT' });
    await claimPrefix(remote, store.run);
    expect(JSON.parse(readFileSync(runFile, 'utf8'))).toMatchObject({ run: store.run });
  });

  it('is fetched from into an empty folder, also without a pointer', async () => {
    using folder = tempFolder(MEMORY);
    const { remote, runFile } = await shipped(folder.path);
    rmSync(runFile);
    rmSync(join(runFile, '../last-good.json'));
    const stop = new AbortController();
    const how = { remote, stop, signal: stop.signal, limit: UNLIMITED, parallel: 1, clock: realClock };
    expect(await fetchNewest({ ...how, folder: join(folder.path, 'new') })).toMatchObject({ step: 80 });
  });

  it('never assigns an attempt number that a copy already has', async () => {
    using folder = tempFolder(MEMORY);
    const { store, remote, runFile } = await shipped(folder.path);
    for (const file of [runFile, join(runFile, '../last-good.json')]) rmSync(file);
    expect(await takeAttemptNumber(remote, { above: 0, gang: 'next', run: store.run })).toBe(2);
  });

  it('lets no other run move the pointer, also where run.json names that other run', async () => {
    using folder = tempFolder(MEMORY);
    const { remote, runFile } = await shipped(folder.path);
    mkdirSync(join(folder.path, 'other'));
    const other = openRun(join(folder.path, 'other'));
    await sealSteps(other, 'gang', 40);
    const before = await readPointer(remote);
    for (const spoil of [
      () => rmSync(runFile),
      () => writeFileSync(runFile, JSON.stringify({ schema: 'holdfast.remote-run/1', run: other.run })),
    ]) {
      spoil();
      await expect(ship(other, remote)).rejects.toMatchObject({ code: 'REMOTE_CONFLICT' });
    }
    expect(await readPointer(remote)).toEqual(before);
  });

  it('has its pointer put back on the newest copy when an older checkpoint is shipped after the pointer was lost', async () => {
    using folder = tempFolder(MEMORY);
    const { store, remote, runFile } = await shipped(folder.path);
    const older = scan(store).sealed.find(({ manifest }) => manifest.step === 40);
    if (older === undefined) throw new Error('step 40 is not there');
    rmSync(join(runFile, '../last-good.json'));
    const how = { limit: UNLIMITED, parallel: 1, clock: realClock };
    const journal = openJournal(store.path, remote.url);
    const again = await shipCheckpoint(older, { store, remote, stop: new AbortController(), journal, ...how });
    expect(again.pointer).toEqual({ moved: false, attempt: 1, step: 80 });
    expect((await readPointer(remote))?.pointer).toMatchObject({ step: 80 });
  });
});
