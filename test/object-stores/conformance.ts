import { randomBytes } from 'node:crypto';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { crc32c, hex32 } from '../../src/core/checksums.ts';
import type { ObjectPlan, ObjectStore, PartBody, RangeSink } from '../../src/remote/backends/backend.ts';
import { compareStored, planObject } from '../../src/remote/backends/part-plan.ts';
import { UNLIMITED } from '../../src/remote/transfer/rate-limit.ts';
import { PART_BYTES } from '../../src/seal/manifest.ts';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';

/** A backend under test. Every call opens it anew, like another process would. */
export interface Subject {
  readonly name: string;
  /** Opens the backend below a prefix of the test's own. */
  readonly open: (place: string) => ObjectStore;
  /** False for a server that loses the parts of an upload when a client asks for its status. */
  readonly canResume: boolean;
  /** False for a server that fails where the name of an object is the folder of another. */
  readonly canNest: boolean;
}

const MIB = 1024 * 1024;

/** The contract of a backend. Ship and fetch rely on these sentences and on nothing else. */
export function conformance({ name, open: openAt, canResume, canNest }: Subject): void {
  describe(`${name} as an object store`, () => {
    it('returns nothing for keys that were never written', async () => {
      await using store = openAt('nothing');
      expect(await store.head('a')).toBeNull();
      expect(await store.read('a/b', 100)).toBeNull();
      expect(await keys(store, '')).toEqual([]);
    });

    it('creates an object only once, however many processes try', async () => {
      await using store = openAt('create');
      await using other = openAt('create');
      const tries = await Promise.all(
        [store, other, store, other].map((each, index) => each.create('one', Buffer.from(`writer ${index}`))),
      );
      expect(tries.filter(({ isWritten }) => isWritten)).toHaveLength(1);
      const winner = tries.findIndex(({ isWritten }) => isWritten);
      expect((await store.read('one', 100))?.bytes.toString()).toBe(`writer ${winner}`);
    });

    it.runIf(canNest)('creates nothing, or a whole object, where the name is the folder of another object', async () => {
      await using store = openAt('above');
      await store.create('one/two', Buffer.from('first'));
      const { isWritten } = await store.create('one', Buffer.from('above'));
      expect((await store.read('one', 100))?.bytes.toString()).toBe(isWritten ? 'above' : undefined);
      expect((await store.read('one/two', 100))?.bytes.toString()).toBe('first');
    });

    it('replaces an object only in the version that the caller read', async () => {
      await using store = openAt('replace');
      await store.create('pointer', Buffer.from('1'));
      const { version } = await present(store.read('pointer', 100));
      const tries = await Promise.all(['2', '3', '4'].map((text) => store.replace('pointer', Buffer.from(text), version)));
      expect(tries.filter(({ isWritten }) => isWritten)).toHaveLength(1);
      expect(await store.replace('pointer', Buffer.from('late'), version)).toEqual({ isWritten: false });
      const now = await present(store.read('pointer', 100));
      expect(now.bytes.toString()).toBe(['2', '3', '4'][tries.findIndex(({ isWritten }) => isWritten)]);
      expect(await store.replace('pointer', Buffer.from('5'), now.version)).toMatchObject({ isWritten: true });
    });

    it.each(['', 'x', 'some bytes'])('stores a small file (%j) and reports its checksum', async (text) => {
      await using store = openAt(`small-${text.length}`);
      await using source = await sourceOf(Buffer.from(text));
      await store.putFile('folder/file', source.plan, source.body);
      expect(compareStored(await present(store.head('folder/file')), source.plan)).toBe('same');
      expect((await present(store.read('folder/file', 100))).bytes.toString()).toBe(text);
    });

    it('joins parts sent in any order that it allows, and reports the checksum', async () => {
      await using store = openAt('parts');
      await using source = await sourceOf(randomBytes(70 * MIB + 12345));
      const upload = await store.openUpload('big/file', source.plan);
      const order = upload.isOrdered ? source.plan.parts : source.plan.parts.toReversed();
      for (const part of order) await upload.putPart(part, source.body);
      await upload.complete();
      expect(compareStored(await present(store.head('big/file')), source.plan)).toBe('same');
      const [offset, size] = [33 * MIB, 3 * MIB];
      expect((await readRange(store, 'big/file', { offset, size })).equals(source.bytes.subarray(offset, offset + size))).toBe(true);
    });

    it('resumes with the parts that an earlier process sent, and forgets uploads on request', async () => {
      await using source = await sourceOf(randomBytes(70 * MIB));
      await using first = openAt('resume');
      const begun = await first.openUpload('big', source.plan);
      expect([...begun.held]).toEqual([]);
      await begun.putPart(partOf(source.plan, 0), source.body);
      expect(await first.head('big')).toBeNull();
      await using second = openAt('resume');
      const resumed = await second.openUpload('big', source.plan);
      expect([...resumed.held]).toEqual(canResume ? [0] : []);
      for (const each of source.plan.parts.slice(resumed.held.size)) await resumed.putPart(each, source.body);
      await resumed.complete();
      expect(compareStored(await present(second.head('big')), source.plan)).toBe('same');
      expect(await second.removeUploads('big')).toBe(0);
      await second.openUpload('left', source.plan);
      await using third = openAt('resume');
      expect(await third.removeUploads('left')).toBe(1);
      expect(await third.removeUploads('left')).toBe(0);
    });

    it('keeps nothing of a part that differs from its checksum, and blames the file', async () => {
      await using store = openAt('damaged');
      await using source = await sourceOf(randomBytes(40 * MIB));
      const parts = source.plan.parts.map((each, index) => (index === 1 ? { ...each, crc32c: each.crc32c ^ 1 } : each));
      const plan = { ...source.plan, crc32c: source.plan.crc32c ^ 1, parts };
      const check = (): Promise<void> => Promise.reject(new Error('the file has changed'));
      const attempt = async (): Promise<void> => {
        const upload = await store.openUpload('file', plan);
        for (const each of plan.parts) await upload.putPart(each, { ...source.body, check });
        await upload.complete();
        if (compareStored(await present(store.head('file')), plan) !== 'same') throw new Error('the file has changed');
      };
      await expect(attempt()).rejects.toThrow('the file has changed');
    });

    it('lists every object below a prefix, however many, with its exact name', async () => {
      await using store = openAt('list');
      const names = ['step-1/a b+c.pt', 'step-1/däta&<x>.bin', 'step-1/x%2Fy', 'step-1/deep/er/file', 'step-10/other'];
      for (const each of names) await store.create(each, Buffer.from(each));
      expect(await keys(store, 'step-1/')).toEqual(names.slice(0, 4).sort());
      for (const each of names) expect((await present(store.read(each, 100))).bytes.toString()).toBe(each);
    });
  });
}

async function keys(store: ObjectStore, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of store.list(prefix)) found.push(key);
  return found.sort();
}

function partOf(plan: ObjectPlan, index: number) {
  const found = plan.parts[index];
  if (found === undefined) throw new Error(`the plan has no part ${index}`);
  return found;
}

async function present<T>(promise: Promise<T | null>): Promise<T> {
  const value = await promise;
  if (value === null) throw new Error('there is nothing');
  return value;
}

async function readRange(store: ObjectStore, key: string, range: { offset: number; size: number }): Promise<Buffer> {
  let chunks: Buffer[] = [];
  const sink: RangeSink = {
    restart: () => (chunks = []),
    write: async (bytes) => void chunks.push(Buffer.from(bytes)),
  };
  await store.readRange(key, range, sink);
  return Buffer.concat(chunks);
}

interface Source extends AsyncDisposable {
  readonly bytes: Buffer;
  readonly plan: ObjectPlan;
  readonly body: PartBody;
}

/** Makes a file with these bytes and the plan of its upload. */
async function sourceOf(bytes: Buffer): Promise<Source> {
  const folder = tempFolder(MEMORY);
  const path = join(folder.path, 'file');
  await writeFile(path, bytes);
  const file = await open(path);
  const sums: string[] = [];
  for (let at = 0; at < bytes.length; at += PART_BYTES) sums.push(hex32(crc32c(bytes.subarray(at, at + PART_BYTES))));
  return {
    bytes,
    plan: planObject({ path: 'file', size: bytes.length, crc32c: sums }),
    body: { file, limit: UNLIMITED },
    async [Symbol.asyncDispose]() {
      await file.close();
      folder[Symbol.dispose]();
    },
  };
}
