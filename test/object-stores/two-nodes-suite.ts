import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ObjectStore } from '../../src/remote/backends/backend.ts';
import { type Fetched, fetchCheckpoint } from '../../src/remote/fetch/fetch.ts';
import { openJournal } from '../../src/remote/copy/journal.ts';
import { UNLIMITED } from '../../src/remote/transfer/rate-limit.ts';
import { type Shipped, shipCheckpoint } from '../../src/remote/copy/ship.ts';
import { scan } from '../../src/store/folder/scan.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { realClock } from '../../src/core/clock.ts';
import { HoldfastError } from '../../src/core/errors.ts';
import { safetensorsFile } from '../support/make-safetensors.ts';
import { MEMORY, tempFolder } from '../support/temp-folder.ts';
import { openAt, type Place } from './ship-place.ts';
import { digests, runHoldfast } from './ship-process.ts';
import { sealCheckpoint } from './shippable-run.ts';

const FILES = { 'model.dat': 300_000, 'optimizer.dat': 1000 };
/** The most writes of any ship of these files. */
const MOST_WRITES = 20;

/** A store that pauses before its nth write until the test releases it. */
function stoppingAt(remote: ObjectStore, nth: number): { store: ObjectStore; stopped: Promise<boolean>; goOn: () => void } {
  const stopped = Promise.withResolvers<boolean>();
  const further = Promise.withResolvers<void>();
  let writes = 0;
  const passing = async (): Promise<void> => {
    if (writes++ !== nth) return;
    stopped.resolve(true);
    await further.promise;
  };
  const store: ObjectStore = {
    url: remote.url,
    settings: remote.settings,
    largestSinglePut: remote.largestSinglePut,
    head: (key) => remote.head(key),
    read: (key, maxBytes) => remote.read(key, maxBytes),
    readRange: (key, range, sink) => remote.readRange(key, range, sink),
    list: (prefix) => remote.list(prefix),
    removeUploads: (key) => remote.removeUploads(key),
    removeOldUploads: (age, spared, isOurs) => remote.removeOldUploads(age, spared, isOurs),
    create: async (key, bytes) => (await passing(), remote.create(key, bytes)),
    replace: async (key, bytes, version) => (await passing(), remote.replace(key, bytes, version)),
    putFile: async (key, plan, body) => (await passing(), remote.putFile(key, plan, body)),
    openUpload: async (key, plan) => {
      const upload = await remote.openUpload(key, plan);
      return {
        ...upload,
        putPart: async (part, body) => (await passing(), upload.putPart(part, body)),
        complete: async () => (await passing(), upload.complete()),
      };
    },
    [Symbol.asyncDispose]: () => remote[Symbol.asyncDispose](),
  };
  return { store, stopped: stopped.promise, goOn: further.resolve };
}

/** The result of a ship: the copy, or the code of its refusal. */
async function shipNewest(path: string, remote: ObjectStore): Promise<Shipped | string> {
  const store = readRun(path);
  const [newest] = scan(store).sealed;
  if (newest === undefined) throw new Error(`nothing is sealed in ${path}`);
  const options = { store, remote, stop: new AbortController(), journal: openJournal(path, remote.url), limit: UNLIMITED, parallel: 1 };
  try {
    return await shipCheckpoint(newest, { ...options, clock: realClock });
  } catch (thrown) {
    if (thrown instanceof HoldfastError) return thrown.code;
    throw thrown;
  }
}

async function fetchTo(folder: string, remote: ObjectStore): Promise<Fetched> {
  const stop = new AbortController();
  const options = { remote, stop, signal: stop.signal, folder, checkpoint: null, limit: UNLIMITED, parallel: 2, clock: realClock };
  return fetchCheckpoint(options);
}

/** Tests two nodes with their own disks that ship checkpoints of one run with the same name. */
export function twoNodesSuite(place: () => Place): void {
  let counter = 0;
  const fresh = () => ({ url: `${place().base}/nodes-${++counter}`, env: place().env });

  /** Makes two folders of one run, each with its own step 200; the second has the newer attempt. */
  async function twoNodes(folder: string): Promise<{ readonly older: string; readonly newer: string; readonly saves: readonly string[] }> {
    const [older, newer] = [join(folder, 'older'), join(folder, 'newer')];
    const one = await sealCheckpoint(older, 200, FILES, { attempt: 1, seed: 1 });
    const two = await sealCheckpoint(newer, 200, FILES, { attempt: 2, seed: 2, run: one.manifest.run });
    return { older, newer, saves: [one.manifest.save, two.manifest.save] };
  }

  it.each(['older', 'newer'] as const)('the pointer names a whole copy, wherever the %s of two attempts stops', async (slow) => {
    using folder = tempFolder(MEMORY);
    const nodes = await twoNodes(folder.path);
    const quick = slow === 'older' ? nodes.newer : nodes.older;
    let isOver = false;
    for (let nth = 0; !isOver; nth++) {
      expect(nth).toBeLessThan(MOST_WRITES);
      const { url, env } = fresh();
      await using plain = openAt(url, env);
      const { store, stopped, goOn } = stoppingAt(openAt(url, env), nth);
      const first = shipNewest(nodes[slow], store);
      isOver = !(await Promise.race([stopped, first.then(() => false)]));
      const second = await shipNewest(quick, plain);
      const between = await fetchTo(join(folder.path, `between-${nth}`), plain);
      goOn();
      const ends = { [slow]: await first, [quick === nodes.newer ? 'newer' : 'older']: second };
      // The newer one is never refused, and a refused ship has sent nothing.
      expect(ends['newer']).toMatchObject({ state: 'shipped', pointer: { moved: true } });
      if (ends['older'] !== 'REMOTE_CONFLICT') expect(ends['older']).toMatchObject({ state: 'shipped' });
      const last = await fetchTo(join(folder.path, `last-${nth}`), plain);
      expect(nodes.saves).toContain(between.save);
      expect([last.save, last.attempt, last.name]).toEqual([nodes.saves[1], 2, 'step-200']);
      expect(digests(last.path)).toEqual(digests(join(nodes.newer, 'step-200')));
      await store[Symbol.asyncDispose]();
    }
  });

  it('two checkpoints of one name each get a copy, which ship resumes and whose address it reports', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const { older, newer } = await twoNodes(folder.path);
    expect((await runHoldfast(['ship', older, url], env)).code).toBe(0);
    for (const state of ['shipped', 'already']) {
      const second = await runHoldfast(['ship', newer, url, '--json'], env);
      expect(JSON.parse(second.stdout)).toMatchObject({
        checkpoints: [{ name: 'step-200', copy: expect.stringMatching(/^step-200-[0-9a-f]{8}$/) as string, state }],
        notes: [expect.stringContaining('Another checkpoint at the address has the name step-200') as string],
      });
    }
    expect((await runHoldfast(['ls', newer], env)).stdout).toMatch(new RegExp(`${url}/step-200-[0-9a-f]{8}`));
    // The older one is no longer newest, but ship finds its earlier copy again.
    expect(JSON.parse((await runHoldfast(['ship', older, url, '--json'], env)).stdout)).toMatchObject({
      checkpoints: [{ copy: 'step-200', state: 'already', pointer: { moved: false, attempt: 2 } }],
    });
    // Fetch into a folder that already has the other checkpoint of that name.
    const fetched = await runHoldfast(['fetch', url, older, '--json'], env);
    const { name } = JSON.parse(fetched.stdout) as { readonly name: string };
    expect(name).toMatch(/^step-200-[0-9a-f]{8}$/);
    expect(digests(join(older, name))).toEqual(digests(join(newer, 'step-200')));
    expect(JSON.parse((await runHoldfast(['fetch', url, older, '--json'], env)).stdout)).toMatchObject({ name, state: 'already' });
    expect((await runHoldfast(['resume', older, '--look-only'], env)).stdout.trim()).toBe(join(older, name));
  });

  it('a single file whose name another save has is fetched as a single file', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const [run, back] = [join(folder.path, 'run'), join(folder.path, 'back')];
    const [file, seal] = ['last.safetensors', 'last.safetensors.holdfast.json'];
    mkdirSync(run);
    // A framework that overwrites its last checkpoint does the same.
    for (const [step, size] of [
      [1, 1000],
      [2, 1200],
    ] as const) {
      for (const name of [file, seal]) rmSync(join(run, name), { force: true });
      writeFileSync(join(run, file), safetensorsFile({ weight: size }));
      expect((await runHoldfast(['seal', join(run, file), '--step', String(step), '--accept', 'weights'], env)).code).toBe(0);
      expect((await runHoldfast(['ship', run, url], env)).code).toBe(0);
    }
    const fetched = await runHoldfast(['fetch', url, back, '--json'], env);
    expect(JSON.parse(fetched.stdout)).toMatchObject({
      name: file,
      copy: expect.stringMatching(/^last\.safetensors-[0-9a-f]{8}$/) as string,
      step: 2,
    });
    for (const name of [file, seal]) expect(readFileSync(join(back, name)).equals(readFileSync(join(run, name)))).toBe(true);
    expect((await runHoldfast(['resume', back, '--look-only'], env)).stdout.trim()).toBe(join(back, file));
  });

  it('a stale attempt sends nothing under a name that another save has', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const { older, newer } = await twoNodes(folder.path);
    expect((await runHoldfast(['ship', newer, url], env)).code).toBe(0);
    expect(await runHoldfast(['ship', older, url], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('REMOTE_CONFLICT') as string,
    });
    await using store = openAt(url, env);
    const keys: string[] = [];
    for await (const { key } of store.list('step-200')) keys.push(key);
    expect(keys.sort()).toEqual(['holdfast.manifest.json', 'model.dat', 'optimizer.dat'].map((file) => `step-200/${file}`));
  });

  it('a copy from before names were recorded keeps its name', async () => {
    using folder = tempFolder(MEMORY);
    const { url, env } = fresh();
    const { older, newer, saves } = await twoNodes(folder.path);
    await using plain = openAt(url, env);
    // Restore the old state: no record of the name.
    const forgetful: ObjectStore = {
      ...stoppingAt(plain, -1).store,
      create: async (key, bytes) => (key.startsWith('.holdfast/names/') ? { isWritten: true, version: '' } : plain.create(key, bytes)),
    };
    expect(await shipNewest(older, forgetful)).toMatchObject({ copy: 'step-200', state: 'shipped' });
    expect(await shipNewest(older, plain)).toMatchObject({ copy: 'step-200', state: 'already' });
    expect((await fetchTo(join(folder.path, 'old'), plain)).save).toBe(saves[0]);
    expect(await shipNewest(newer, plain)).toMatchObject({ copy: expect.stringMatching(/^step-200-/) as string, state: 'shipped' });
    expect((await fetchTo(join(folder.path, 'new'), plain)).save).toBe(saves[1]);
  });
}
