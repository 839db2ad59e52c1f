import { existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { realClock } from '../../../core/clock.ts';
import { DirectoryStore } from './store.ts';

const DAY_MS = 24 * 60 * 60_000;

function storeIn(path: string): DirectoryStore {
  return new DirectoryStore({ url: `file://${path}`, path, clock: realClock, signal: new AbortController().signal });
}

describe('a folder of copies', () => {
  it('keeps nothing of a small object but the object', async () => {
    using folder = tempFolder();
    const store = storeIn(folder.path);
    const made = await store.create('a/note', Buffer.from('one'));
    if (made.isWritten) await store.replace('a/note', Buffer.from('two'), made.version);
    expect(readdirSync(join(folder.path, '.holdfast/uploads'))).toEqual([]);
    expect((await store.read('a/note', 10))?.bytes.toString()).toBe('two');
  });

  it('is cleaned of what a killed process left on its way, after a minute; uploads can be gone on with for as long as is said', async () => {
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

  it('is cleaned while others finish what they have on its way', async () => {
    using folder = tempFolder();
    const store = storeIn(folder.path);
    await store.create('a/note', Buffer.from('one'));
    const uploads = join(folder.path, '.holdfast/uploads');
    const files = Array.from({ length: 500 }, (_, index) => join(uploads, `0a1b.${index}`));
    for (const file of files) writeFileSync(file, 'half');
    const [removed] = await Promise.all([store.removeOldUploads(DAY_MS, new Set()), ...files.map((file) => unlink(file))]);
    expect(removed).toBe(0);
  });
});
