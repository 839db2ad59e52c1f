import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { startAttempt } from '../../../store/attempt/attempt.ts';
import { beginSave, type Save } from '../../../store/commit/save.ts';
import { openRun, type OpenStore } from '../../../store/folder/store.ts';
import { realClock } from '../../../core/clock.ts';
import { closeGate, makeCommitGate, passGate } from './commit-gate.ts';
import { Sealer } from './sealer.ts';

const { signal } = new AbortController();
let sealer: Sealer | null = null;
afterEach(() => sealer?.close());

/** Makes a new run below the folder with a save of one file, as a rank hands it over. */
async function handedOver(folder: string): Promise<{ readonly store: OpenStore; readonly save: Save }> {
  const dir = join(folder, 'run');
  mkdirSync(dir);
  const store = openRun(dir);
  const save = beginSave(store, await startAttempt(store, { gang: 'a' }), { step: 7, worldSize: 1 });
  writeFileSync(join(save.data, 'state'), 'everything');
  return { store, save };
}

/** Starts a sealer with this program in place of the real one. */
function makeSealer(dir: string, program?: string): Sealer {
  sealer = new Sealer({ dir, clock: realClock, ...(program === undefined ? {} : { program: new URL(`data:text/javascript,${program}`) }) });
  return sealer;
}

describe('the seal thread', () => {
  it('seals a save, reports its bytes on the way, and deletes old checkpoints', async () => {
    using folder = tempFolder();
    const { store, save } = await handedOver(folder.path);
    const told: number[] = [];
    const made = makeSealer(store.path);
    const sealed = await made.seal({ kind: 'seal', save, image: null }, { signal, onBytes: (done, total) => told.push(done, total) });
    expect(sealed).toMatchObject({ name: 'step-7', path: join(store.path, 'step-7'), bytes: 10 });
    expect(told).toEqual([10, 10]);
    await made.prune({ kind: 'prune', retention: { last: 1, every: null, withinMs: null } }, { signal });
    expect(readdirSync(store.path)).toContain('step-7');
  });

  it('reports a failed save with the error code of the store', async () => {
    using folder = tempFolder();
    const { store, save } = await handedOver(folder.path);
    await startAttempt(store, { gang: 'b' });
    const lost = makeSealer(store.path).seal({ kind: 'seal', save, image: null }, { signal });
    await expect(lost).rejects.toMatchObject({ code: 'ATTEMPT_FENCED', hint: expect.stringContaining('newer attempt') as string });
  });

  it.each([
    ['ends', 'process.exit()'],
    ['throws', 'throw new Error("out of order")'],
    [
      'throws in the middle of it',
      'import { parentPort } from "node:worker_threads"; parentPort.on("message", () => { throw new Error("out of order") })',
    ],
  ])('that %s fails its save with an error and leaves the data in place', async (_, program) => {
    using folder = tempFolder();
    const { store, save } = await handedOver(folder.path);
    const broken = makeSealer(store.path, program);
    await expect(broken.seal({ kind: 'seal', save, image: null }, { signal })).rejects.toMatchObject({
      code: 'SAVE_INCOMPLETE',
      message: expect.stringMatching(/the sealing thread has ended: (it ended|out of order)/) as string,
    });
    expect(existsSync(save.data)).toBe(true);
  });

  it('does not block an abort while it waits for its disk', async () => {
    using folder = tempFolder();
    const { store, save } = await handedOver(folder.path);
    const stuck = makeSealer(
      store.path,
      'import { parentPort } from "node:worker_threads"; parentPort.on("message", ({ id }) => { parentPort.postMessage({ type: "bytes", id, done: 1, total: 9 }); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) })',
    );
    const stop = new AbortController();
    const begun = Promise.withResolvers<void>();
    const seal = stuck.seal({ kind: 'seal', save, image: null }, { signal: stop.signal, onBytes: () => begun.resolve() });
    const lost = expect(seal).rejects.toThrow('no time left');
    // This thread gets the message while the seal thread sleeps for good.
    await begun.promise;
    stop.abort(new Error('no time left'));
    await lost;
  });

  it('that cannot be ended is reported as stuck, and closing does not wait for it', async () => {
    using folder = tempFolder();
    const { store, save } = await handedOver(folder.path);
    const started = join(folder.path, 'started');
    // A thread that waits for a process cannot be ended, just like one that waits for a disk.
    const line = `echo $$ > '${started}.new'; mv '${started}.new' '${started}'; exec sleep 1000`;
    const stuck = makeSealer(
      store.path,
      encodeURIComponent(
        `import { parentPort } from "node:worker_threads"; import { spawnSync } from "node:child_process"; parentPort.on("message", () => spawnSync("sh", ["-c", ${JSON.stringify(line)}]))`,
      ),
    );
    const stop = new AbortController();
    const lost = expect(stuck.seal({ kind: 'seal', save, image: null }, { signal: stop.signal })).rejects.toThrow('no time left');
    while (!existsSync(started)) await new Promise((resolve) => setImmediate(resolve));
    try {
      expect(stuck.isStuck).toBe(false);
      stop.abort(new Error('no time left'));
      await lost;
      expect(stuck.isStuck).toBe(true);
      expect(await stuck.close(50)).toBe(false);
    } finally {
      // Now the thread can end, and so can the test process.
      process.kill(Number(readFileSync(started, 'utf8')));
    }
  });

  it('commits no save that was abandoned before, and a commit under way cannot be abandoned', () => {
    const [first, second] = [makeCommitGate(), makeCommitGate()];
    expect([closeGate(first), passGate(first)]).toEqual([true, false]);
    expect([passGate(second), closeGate(second)]).toEqual([true, false]);
  });
});
