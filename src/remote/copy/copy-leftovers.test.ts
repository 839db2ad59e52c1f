import { describe, expect, it } from 'vitest';
import { seal, testRun } from '../../../test/support/sealed-run.ts';
import { MEMORY, tempFolder } from '../../../test/support/temp-folder.ts';
import { realClock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { startAttempt } from '../../store/attempt/attempt.ts';
import { findSealed } from '../../store/attempt/roll-back.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { DirectoryStore } from '../backends/directory/directory-store.ts';
import { openJournal } from './journal.ts';
import { UNLIMITED } from '../transfer/rate-limit.ts';
import { type Shipped, shipCheckpoint } from './ship.ts';

const NAMES = '.holdfast/names/';

/** Ships a checkpoint to a store with this clean-up. */
async function shipWith(removeOldUploads: ObjectStore['removeOldUploads'], stop = new AbortController()) {
  using run = testRun();
  using folder = tempFolder(MEMORY);
  await seal(run.store, await startAttempt(run.store, { gang: 'g' }), { step: 1 });
  const url = `file://${folder.path}`;
  const copies = new DirectoryStore({ url, path: folder.path, clock: realClock, signal: stop.signal });
  const asked: string[] = [];
  const read: ObjectStore['read'] = (key, maxBytes) => (asked.push(key), DirectoryStore.prototype.read.call(copies, key, maxBytes));
  const listed: string[] = [];
  const list: ObjectStore['list'] = (prefix) => (listed.push(prefix), DirectoryStore.prototype.list.call(copies, prefix));
  const remote = Object.assign(copies, { read, list, removeOldUploads });
  const options = { store: run.store, remote, stop, journal: openJournal(run.path, url), limit: UNLIMITED, parallel: 1, clock: realClock };
  const shipped: Shipped = await shipCheckpoint(findSealed(run.store, '1'), options);
  return { shipped, asked, listed };
}

describe('the clean-up before a copy', () => {
  it('lists the names only once, for any number of uploads and names of other programs', async () => {
    const theirs = Array.from({ length: 100 }, (_, index) => `theirs-${index}/a`);
    const answers: boolean[] = [];
    const { asked, listed } = await shipWith(async (_age, _spared, isOurs) => {
      for (const key of [...theirs, 'step-1/left', 'step-1/more', 'step-1.index', 'step-1', '../step-1', ''])
        answers.push(await isOurs(key));
      return 2;
    });
    expect(answers).toEqual([...theirs.map(() => false), true, true, true, true, false, false]);
    expect(listed.filter((prefix) => prefix === NAMES)).toHaveLength(1);
    expect(asked.filter((key) => key.includes('theirs'))).toEqual([]);
  });

  it('lists no names if no upload is old', async () => {
    expect((await shipWith(async () => 0)).listed).not.toContain(NAMES);
  });

  it('that fails is reported, and the copy is made anyway', async () => {
    const { shipped } = await shipWith(async () => {
      throw new HoldfastError('REMOTE_ACCESS_DENIED', { message: 'cannot clean up' });
    });
    expect(shipped).toMatchObject({ state: 'shipped', removedUploads: 0, cleanUpProblem: 'cannot clean up' });
  });

  it('that succeeds reports no problem', async () => {
    expect((await shipWith(async () => 3)).shipped).toMatchObject({ removedUploads: 3, cleanUpProblem: null });
  });

  it('that is aborted aborts the copy, and a defect of Holdfast is not reported as an error of the store', async () => {
    const stop = new AbortController();
    const stopped = shipWith(async () => {
      stop.abort(new HoldfastError('INTERRUPTED', { message: 'enough' }));
      throw new HoldfastError('REMOTE_UNAVAILABLE', { message: 'the request was closed' });
    }, stop);
    await expect(stopped).rejects.toThrow('enough');
    const broken = shipWith(async () => {
      throw new TypeError('a mistake');
    });
    await expect(broken).rejects.toThrow('a mistake');
  });
});
