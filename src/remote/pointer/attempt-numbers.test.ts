import { describe, expect, it } from 'vitest';
import { MEMORY, tempFolder } from '../../../test/support/temp-folder.ts';
import { realClock } from '../../core/clock.ts';
import { takeAttemptNumber } from './attempt-numbers.ts';
import { claimPrefix } from './whose-prefix.ts';
import { DirectoryStore } from '../backends/directory/directory-store.ts';

const open = (path: string): DirectoryStore =>
  new DirectoryStore({ url: `file://${path}`, path, clock: realClock, signal: new AbortController().signal });

describe('numbers of attempts at a remote place', () => {
  it('are given once, however many nodes ask at the same time', async () => {
    using folder = tempFolder(MEMORY);
    const stores = Array.from({ length: 8 }, () => open(folder.path));
    const taken = await Promise.all(stores.map((store, index) => takeAttemptNumber(store, { above: 0, gang: `gang ${index}`, run: 'r' })));
    expect(taken.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('are above the numbers that the node itself knows', async () => {
    using folder = tempFolder(MEMORY);
    const store = open(folder.path);
    expect(await takeAttemptNumber(store, { above: 6, gang: 'a', run: 'r' })).toBe(7);
    expect(await takeAttemptNumber(store, { above: 2, gang: 'b', run: 'r' })).toBe(8);
  });

  it('are above the attempt of the newest copy, even one that was shipped by hand', async () => {
    using folder = tempFolder(MEMORY);
    const store = open(folder.path);
    const pointer = { schema: 'holdfast.remote-last-good/1', run: 'r', attempt: 40, step: 1, save: 's', name: 'step-1', kind: 'directory' };
    await store.create('.holdfast/last-good.json', Buffer.from(JSON.stringify(pointer)));
    expect(await takeAttemptNumber(store, { above: 0, gang: 'a', run: 'r' })).toBe(41);
  });

  it('are not read from names without a number', async () => {
    using folder = tempFolder(MEMORY);
    const store = open(folder.path);
    await claimPrefix(store, 'r');
    for (const name of ['x.json', '007.json', '9'.repeat(30), '12.json.tmp'])
      await store.create(`.holdfast/attempt-numbers/${name}`, Buffer.from(''));
    expect(await takeAttemptNumber(store, { above: 0, gang: 'a', run: 'r' })).toBe(1);
  });
});
