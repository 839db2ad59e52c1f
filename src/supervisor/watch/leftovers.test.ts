import { existsSync, mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testRun, type TestRun } from '../../../test/support/sealed-run.ts';
import { writeZip } from '../../../test/support/zip-writer.ts';
import { adopt } from '../../checkpoint/store/adopt.ts';
import { startAttempt } from '../../checkpoint/store/attempt.ts';
import { lastGood } from '../../checkpoint/store/last-good.ts';
import { rollBack } from '../../checkpoint/store/roll-back.ts';
import { Book } from '../book.ts';
import { settleLeftovers, snapshot } from './leftovers.ts';

/** A NumPy archive that a run could resume from. */
function archive(step: number): Buffer {
  const array = (value: number): Buffer => {
    const header = Buffer.from(`${"{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }".padEnd(117)}\n`);
    const data = Buffer.alloc(8);
    data.writeBigInt64LE(BigInt(value));
    return Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), Buffer.from([header.length, 0]), header, data]);
  };
  return writeZip([
    { name: 'model.npy', data: array(step * 7) },
    { name: 'optimizer.npy', data: array(step * 3) },
    { name: 'step.npy', data: array(step) },
  ]);
}

/** Writes a file, and makes it younger than everything before by its time. */
let youngestMs = 1_800_000_000_000;
function write(run: TestRun, path: string, data: Buffer): void {
  writeFileSync(join(run.path, path), data);
  const at = new Date((youngestMs += 1000));
  utimesSync(join(run.path, path), at, at);
}

/** The life that begins now finds the folder as it is. */
async function begin(run: TestRun, gang: string): Promise<readonly string[]> {
  const said: string[] = [];
  const say = (text: string): void => void said.push(text);
  const attempt = await startAttempt(run.store, { gang });
  const book = new Book({ dir: run.path, node: 'node', clock: run.store.clock, terminationLog: null, say, shout: say });
  await settleLeftovers({ store: run.store, attempt, book, signal: new AbortController().signal });
  return said;
}

const good = async (run: TestRun): Promise<string | null> => (await lastGood(run.store, { level: 'deep' })).checkpoint?.name ?? null;

/** As if it had been sealed just now, whatever the times of its files are. */
function seal(run: TestRun, manifest: string): void {
  const at = new Date(youngestMs);
  utimesSync(join(run.path, manifest), at, at);
}

describe('what an earlier life has left in a watched folder', () => {
  it('is sealed for the new attempt: the newest that is whole, and no older one', async () => {
    using run = testRun();
    for (const step of [10, 30, 20]) write(run, `step-${step}.npz`, archive(step));
    write(run, 'step-40.npz', archive(40).subarray(0, 300));
    expect(await begin(run, 'a')).toEqual([expect.stringMatching(/^sealed step 30, which an earlier life had left/)]);
    expect(await good(run)).toBe('step-30.npz');
    expect(existsSync(join(run.path, 'step-20.npz.holdfast.json'))).toBe(false);
    expect(snapshot(run.store).sealed).toEqual(['step-30.npz']);
  });

  it('is left alone when it is not newer than what is sealed', async () => {
    using run = testRun();
    write(run, 'step-30.npz', archive(30));
    await begin(run, 'a');
    seal(run, 'step-30.npz.holdfast.json');
    write(run, 'step-20.npz', archive(20));
    expect(await begin(run, 'b')).toEqual([]);
    expect(await good(run)).toBe('step-30.npz');
  });

  it('is left alone when the run was rolled back from it', async () => {
    using run = testRun();
    write(run, 'step-30.npz', archive(30));
    await begin(run, 'a');
    seal(run, 'step-30.npz.holdfast.json');
    write(run, 'step-40.npz', archive(40));
    await rollBack(run.store, null);
    expect(await begin(run, 'b')).toEqual([]);
    expect(await good(run)).toBe(null);
  });
});

describe('a seal that an earlier life has left', () => {
  it('is taken back, and given anew, when its file was written over', async () => {
    using run = testRun();
    write(run, 'last.npz', archive(10));
    await begin(run, 'a');
    seal(run, 'last.npz.holdfast.json');
    write(run, 'last.npz', archive(20));
    expect(await begin(run, 'b')).toEqual([expect.stringContaining('its seal is taken back'), expect.stringContaining('sealed step 20')]);
    expect((await lastGood(run.store)).checkpoint?.manifest).toMatchObject({ step: 20, attempt: 2 });
  });

  it('is taken back for good when only some of its files were: that is a mixture of two saves', async () => {
    using run = testRun();
    mkdirSync(join(run.path, 'step-10'));
    for (const name of ['a.npz', 'b.npz']) write(run, `step-10/${name}`, archive(10));
    // Two files that belong together by nothing but their folder are sealed by hand.
    await adopt(run.store, join(run.path, 'step-10'), { accept: 'anything', step: 10 });
    seal(run, 'step-10/holdfast.manifest.json');
    write(run, 'step-10/a.npz', archive(20));
    expect(await begin(run, 'b')).toEqual([expect.stringContaining('its seal is taken back')]);
    expect(await good(run)).toBe(null);
  });

  it('stays when its file was only touched', async () => {
    using run = testRun();
    write(run, 'last.npz', archive(10));
    await begin(run, 'a');
    seal(run, 'last.npz.holdfast.json');
    const before = statSync(join(run.path, 'last.npz.holdfast.json')).ino;
    write(run, 'last.npz', archive(10));
    expect(await begin(run, 'b')).toEqual([]);
    expect(statSync(join(run.path, 'last.npz.holdfast.json')).ino).toBe(before);
  });

  it('goes with its file, and nothing is taken for damaged', async () => {
    using run = testRun();
    write(run, 'last.npz', archive(10));
    await begin(run, 'a');
    rmSync(join(run.path, 'last.npz'));
    expect(await begin(run, 'b')).toEqual([]);
    expect(existsSync(join(run.path, 'last.npz.holdfast.json'))).toBe(false);
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: null, skipped: [] });
  });
});
