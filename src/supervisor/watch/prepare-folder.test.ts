import { existsSync, mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testRun, type TestRun } from '../../../test/support/sealed-run.ts';
import { writeZip } from '../../../test/support/zip-writer.ts';
import { adopt } from '../../store/adopt/adopt.ts';
import { startAttempt } from '../../store/attempt/attempt.ts';
import { lastGood } from '../../store/resume/last-good.ts';
import { listQuarantine } from '../../store/resume/quarantine.ts';
import { rollBack } from '../../store/attempt/roll-back.ts';
import { RunLog } from '../base/run-log.ts';
import { settleLeftovers, snapshot } from './prepare-folder.ts';

/** Writes a NumPy archive that a run can resume from. */
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

/** Writes a file with a later time than every file before it. */
let youngestMs = 1_800_000_000_000;
function write(run: TestRun, path: string, data: Buffer): void {
  writeFileSync(join(run.path, path), data);
  const at = new Date((youngestMs += 1000));
  utimesSync(join(run.path, path), at, at);
}

/** Prepares the folder as the next attempt does when it starts. */
async function begin(run: TestRun, gang: string): Promise<readonly string[]> {
  const said: string[] = [];
  const say = (text: string): void => void said.push(text);
  const attempt = await startAttempt(run.store, { gang });
  const log = new RunLog({ dir: run.path, node: 'node', clock: run.store.clock, terminationLog: null, say, shout: say });
  await settleLeftovers({ store: run.store, attempt, log, signal: new AbortController().signal });
  return said;
}

const good = async (run: TestRun): Promise<string | null> => (await lastGood(run.store, { level: 'deep' })).checkpoint?.name ?? null;

/** Makes the seal look as if it were made just now, whatever the times of the files are. */
function seal(run: TestRun, manifest: string): void {
  const at = new Date(youngestMs);
  utimesSync(join(run.path, manifest), at, at);
}

describe('an unsealed save of an earlier attempt in a watched folder', () => {
  it('is sealed for the new attempt when it is the newest whole one', async () => {
    using run = testRun();
    for (const step of [10, 30, 20]) write(run, `step-${step}.npz`, archive(step));
    write(run, 'step-40.npz', archive(40).subarray(0, 300));
    expect(await begin(run, 'a')).toEqual([expect.stringMatching(/^sealed step 30, which an earlier run of the supervisor left/)]);
    expect(await good(run)).toBe('step-30.npz');
    expect(existsSync(join(run.path, 'step-20.npz.holdfast.json'))).toBe(false);
    expect(snapshot(run.store).sealed).toEqual(['step-30.npz']);
  });

  it('stays unsealed when it is not newer than the newest sealed save', async () => {
    using run = testRun();
    write(run, 'step-30.npz', archive(30));
    await begin(run, 'a');
    seal(run, 'step-30.npz.holdfast.json');
    write(run, 'step-20.npz', archive(20));
    expect(await begin(run, 'b')).toEqual([]);
    expect(await good(run)).toBe('step-30.npz');
  });

  it('stays unsealed when the run was rolled back from it', async () => {
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

describe('a seal of an earlier attempt in a watched folder', () => {
  it('is removed and made again when its file was overwritten', async () => {
    using run = testRun();
    write(run, 'last.npz', archive(10));
    await begin(run, 'a');
    seal(run, 'last.npz.holdfast.json');
    write(run, 'last.npz', archive(20));
    expect(await begin(run, 'b')).toEqual([
      expect.stringContaining('Holdfast removes its seal'),
      expect.stringContaining('sealed step 20'),
    ]);
    expect((await lastGood(run.store)).checkpoint?.manifest).toMatchObject({ step: 20, attempt: 2 });
  });

  it('stays on a folder with one file rewritten at the same size, and the folder is quarantined', async () => {
    using run = testRun();
    mkdirSync(join(run.path, 'step-10'));
    for (const name of ['a.npz', 'b.npz']) write(run, `step-10/${name}`, archive(10));
    // The two files belong together by their folder alone, so the test seals them by hand.
    await adopt(run.store, join(run.path, 'step-10'), { accept: 'anything', step: 10 });
    seal(run, 'step-10/holdfast.manifest.json');
    write(run, 'step-10/a.npz', archive(20));
    expect(await begin(run, 'b')).toEqual([]);
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: null, skipped: [{ name: 'step-10', code: 'MANIFEST_CHECKSUM' }] });
    expect(listQuarantine(run.store)).toMatchObject([{ name: 'step-10', step: 10 }]);
  });

  it('is removed for good when some files of its folder were rewritten with another size', async () => {
    using run = testRun();
    mkdirSync(join(run.path, 'step-10'));
    for (const name of ['a.npz', 'b.npz']) write(run, `step-10/${name}`, archive(10));
    await adopt(run.store, join(run.path, 'step-10'), { accept: 'anything', step: 10 });
    seal(run, 'step-10/holdfast.manifest.json');
    write(run, 'step-10/a.npz', archive(20).subarray(0, 300));
    expect(await begin(run, 'b')).toEqual([expect.stringContaining('Holdfast removes its seal')]);
    expect(await good(run)).toBe(null);
    expect(listQuarantine(run.store)).toEqual([]);
  });

  it('stays on a file with a changed byte and a new time, and the file is quarantined', async () => {
    using run = testRun();
    write(run, 'step-10.npz', archive(10));
    write(run, 'step-20.npz', archive(20));
    await begin(run, 'a');
    const flipped = archive(20);
    flipped[200] = (flipped[200] ?? 0) ^ 1;
    seal(run, 'step-20.npz.holdfast.json');
    write(run, 'step-20.npz', flipped);
    await begin(run, 'b');
    // The checkpoint is refused even where only names and sizes are compared.
    expect(await lastGood(run.store)).toMatchObject({ skipped: [{ name: 'step-20.npz', code: 'MANIFEST_CHECKSUM' }] });
    expect(listQuarantine(run.store)).toMatchObject([{ name: 'step-20.npz' }]);
  });

  it('stays when only the time of its file changed', async () => {
    using run = testRun();
    write(run, 'last.npz', archive(10));
    await begin(run, 'a');
    seal(run, 'last.npz.holdfast.json');
    const before = statSync(join(run.path, 'last.npz.holdfast.json')).ino;
    write(run, 'last.npz', archive(10));
    expect(await begin(run, 'b')).toEqual([]);
    expect(statSync(join(run.path, 'last.npz.holdfast.json')).ino).toBe(before);
  });

  it('is removed when its file was deleted, and no damage is reported', async () => {
    using run = testRun();
    write(run, 'last.npz', archive(10));
    await begin(run, 'a');
    rmSync(join(run.path, 'last.npz'));
    expect(await begin(run, 'b')).toEqual([]);
    expect(existsSync(join(run.path, 'last.npz.holdfast.json'))).toBe(false);
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: null, skipped: [] });
  });
});
