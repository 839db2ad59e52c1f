import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MEMORY, tempFolder } from '../../../../test/support/temp-folder.ts';
import { crc32c } from '../../../core/checksums.ts';
import { realClock } from '../../../core/clock.ts';
import type { Written } from '../backend.ts';
import { DirectoryStore } from './directory-store.ts';

const DAY_MS = 24 * 60 * 60_000;

function storeIn(path: string): DirectoryStore {
  return new DirectoryStore({ url: `file://${path}`, path, clock: realClock, signal: new AbortController().signal });
}

/** The names below a folder. */
const treeOf = (folder: string): readonly string[] => readdirSync(folder, { recursive: true }).map(String).sort();

describe('a folder of copies', () => {
  it('holds nothing beside a small object but the object itself', async () => {
    using folder = tempFolder();
    const store = storeIn(folder.path);
    const made = await store.create('a/note', Buffer.from('one'));
    if (made.isWritten) await store.replace('a/note', Buffer.from('two'), made.version);
    expect(readdirSync(join(folder.path, '.holdfast/uploads'))).toEqual([]);
    expect((await store.read('a/note', 10))?.bytes.toString()).toBe('two');
  });

  it('never reports a name as taken because another file is in the place of its folder', async () => {
    using folder = tempFolder();
    const store = storeIn(folder.path);
    writeFileSync(join(folder.path, 'a'), '');
    await expect(store.create('a/note', Buffer.from('one'))).rejects.toThrow();
    expect(await store.create('b/note', Buffer.from('one'))).toMatchObject({ isWritten: true });
    expect(await store.create('b/note', Buffer.from('two'))).toEqual({ isWritten: false });
  });

  it.each(['a', 'a/b', '.holdfast', '.holdfast/uploads'])('follows no link in the place of its folder %s', async (place) => {
    using folder = tempFolder();
    const [root, outside] = [join(folder.path, 'root'), join(folder.path, 'outside')];
    const store = storeIn(root);
    await store.create('a/b/note', Buffer.from('one'));
    renameSync(join(root, place), outside);
    symlinkSync(outside, join(root, place));
    const before = treeOf(outside);
    const sum = crc32c(Buffer.from('two'));
    const plan = { size: 3, crc32c: sum, parts: [{ index: 0, offset: 0, size: 3, crc32c: sum }] };
    await Promise.allSettled([
      store.create('a/b/new', Buffer.from('two')),
      store.create('.holdfast/names/x', Buffer.from('two')),
      store.replace('a/b/note', Buffer.from('two'), 'any'),
      store.openUpload('a/b/large', plan),
      store.removeOldUploads(0, new Set()),
      store.removeUploads('a/b/large'),
    ]);
    expect(treeOf(outside)).toEqual(before);
    const note = await store.read('a/b/note', 10);
    expect(note === null).toBe(place.startsWith('a'));
    expect((await store.head('a/b/note')) === null).toBe(place.startsWith('a'));
  });

  it('removes the leftovers of a killed process after a minute, and keeps uploads resumable for the given age', async () => {
    using folder = tempFolder();
    const store = storeIn(folder.path);
    await store.create('a/note', Buffer.from('one'));
    const uploads = join(folder.path, '.holdfast/uploads');
    const [upload, left, fresh] = ['0a1b', '0a1b.7c1d', '0a1b.8e2f'].map((name) => join(uploads, name)) as [string, string, string];
    for (const file of [upload, left, fresh]) writeFileSync(file, 'half');
    const twoMinutesAgo = Date.now() / 1000 - 120;
    for (const file of [upload, left]) utimesSync(file, twoMinutesAgo, twoMinutesAgo);
    expect(await store.removeOldUploads(DAY_MS, new Set())).toBe(0);
    expect([upload, left, fresh].map((file) => existsSync(file))).toEqual([true, false, true]);
    expect(await store.removeOldUploads(60_000, new Set())).toBe(1);
  });

  it('is cleaned while other processes finish their own writes', async () => {
    using folder = tempFolder();
    const store = storeIn(folder.path);
    await store.create('a/note', Buffer.from('one'));
    const uploads = join(folder.path, '.holdfast/uploads');
    const files = Array.from({ length: 500 }, (_, index) => join(uploads, `0a1b.${index}`));
    for (const file of files) writeFileSync(file, 'half');
    const [removed] = await Promise.all([store.removeOldUploads(DAY_MS, new Set()), ...files.map((file) => unlink(file))]);
    expect(removed).toBe(0);
  });

  it('lets one process at a time replace an object, even after a killed process left its lock', async () => {
    using folder = tempFolder();
    const stores = Array.from({ length: 6 }, () => storeIn(folder.path));
    const [first] = stores;
    let version = versionIn(await first?.create('a/note', Buffer.from('0')));
    for (let round = 1; round <= 5; round++) {
      leaveLock(folder.path, 'a/note');
      const tries = await Promise.all(stores.map((store, index) => store.replace('a/note', Buffer.from(`${round}.${index}`), version)));
      const written = tries.filter(({ isWritten }) => isWritten);
      expect(written).toHaveLength(1);
      version = versionIn(written[0]);
    }
  });

  it('refuses a replace without its lock, because another process may be replacing the object', async () => {
    using folder = tempFolder();
    const store = storeIn(folder.path);
    const version = versionIn(await store.create('a/note', Buffer.from('one')));
    writeFileSync(join(folder.path, '.holdfast/locks'), 'a file in the way');
    await expect(store.replace('a/note', Buffer.from('two'), version)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect((await store.read('a/note', 10))?.bytes.toString()).toBe('one');
  });

  it('is listed completely while other processes replace objects in it', async () => {
    using folder = tempFolder();
    const store = storeIn(folder.path);
    let version = versionIn(await store.create('a/note', Buffer.from('0')));
    for (let round = 1; round <= 20; round++) {
      const [written, keys] = await Promise.all([store.replace('a/note', Buffer.from(`${round}`), version), keysIn(store)]);
      expect(keys).toEqual(['a/note']);
      version = versionIn(written);
    }
  });

  it('is listed even when one folder holds more names than a function call can take', async () => {
    using folder = tempFolder(MEMORY);
    mkdirSync(join(folder.path, 'a'));
    for (let index = 0; index < 130_000; index++) writeFileSync(join(folder.path, 'a', `${index}`), '');
    const first = await storeIn(folder.path).list('').next();
    expect(first).toMatchObject({ done: false, value: { size: 0 } });
  });
});

async function keysIn(store: DirectoryStore): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list('')) keys.push(key);
  return keys;
}

function versionIn(written: Written | undefined): string {
  if (written?.isWritten !== true) throw new Error('it was not written');
  return written.version;
}

/** Leaves the lock of a process on another machine that was killed two minutes ago. */
function leaveLock(path: string, key: string): void {
  const lock = join(path, '.holdfast/locks', `claim-${createHash('sha256').update(key).digest('hex').slice(0, 40)}`);
  mkdirSync(lock, { recursive: true });
  const owner = join(lock, 'owner.json');
  writeFileSync(owner, '{"id":"gone","pid":1,"process":null}');
  const twoMinutesAgo = Date.now() / 1000 - 120;
  utimesSync(owner, twoMinutesAgo, twoMinutesAgo);
}
