import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { adopt } from '../../src/store/adopt/adopt.ts';
import { type Attempt, startAttempt } from '../../src/store/attempt/attempt.ts';
import { commitSave } from '../../src/store/commit/commit.ts';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { prune } from '../../src/store/retention/prune.ts';
import { abandonSave, beginSave, type Save, writeReceipt } from '../../src/store/commit/save.ts';
import { openRun, type OpenStore } from '../../src/store/folder/store.ts';
import { systemCode } from '../../src/core/errors.ts';
import { WHOLE } from '../support/fixtures.ts';
import { type Mounted, mountLoop, mountTmpfs, mountWithQuota, remount, whyNoLoop, whyNoMounts, whyNoQuota } from '../support/mounts.ts';
import { seal } from '../support/sealed-run.ts';
import { LAUNCHER, runProcess } from '../support/run-process.ts';

const TRAINER_RUN = join(WHOLE, 'hf-trainer-run/data/run');
const skipped = (reason: string | null): string => (reason === null ? '' : ` (skipped: ${reason})`);

/** A run on a mount with step 1 sealed; every sync is real. */
async function runOn({ path }: Mounted): Promise<{ readonly path: string; readonly store: OpenStore; readonly attempt: Attempt }> {
  const run = join(path, 'run');
  mkdirSync(run);
  const store = openRun(run);
  const attempt = await startAttempt(store, { gang: 'g' });
  await seal(store, attempt, { step: 1 });
  return { path: run, store, attempt };
}

const visible = (run: string): string[] => readdirSync(run).filter((name) => name !== '.holdfast');

/** Checks that step 1 is there and whole, and nothing else is. */
async function expectOnlyStepOne({ path, store }: { readonly path: string; readonly store: OpenStore }): Promise<void> {
  expect(visible(path)).toEqual(['step-1']);
  expect(await lastGood(store, { level: 'deep' })).toMatchObject({ checkpoint: { name: 'step-1' }, skipped: [] });
}

function fill(folder: string): { [Symbol.dispose](): void } {
  const filler = join(folder, 'filler');
  for (let size = 1 << 20; size >= 1; size = Math.floor(size / 4)) {
    try {
      for (;;) writeFileSync(filler, Buffer.alloc(size), { flag: 'a', flush: true });
    } catch (thrown) {
      expect(systemCode(thrown)).toMatch(/^(ENOSPC|EDQUOT)$/);
    }
  }
  return { [Symbol.dispose]: () => rmSync(filler) };
}

describe('a volume that becomes read-only in the middle', () => {
  const reason = whyNoLoop('ext4');
  const test = it.skipIf(reason !== null);

  test(`of a save: the save is refused with a hint, and the last good checkpoint stays${skipped(reason)}`, async () => {
    using mount = mountLoop('ext4');
    const run = await runOn(mount);
    const save = beginSave(run.store, run.attempt, { step: 2, worldSize: 1 });
    writeFileSync(join(save.data, 'shard-0'), 'bytes');
    await writeReceipt(run.store, save, { rank: 0 });
    remount(mount.path, 'ro');
    expect(() => commitSave(run.store, save)).toThrow(
      expect.objectContaining({ code: 'STORE_NOT_WRITABLE', message: expect.stringContaining('EROFS'), hint: expect.any(String) }),
    );
    await expectOnlyStepOne(run);
    expect(() => beginSave(run.store, run.attempt, { step: 3, worldSize: 1 })).toThrow(
      expect.objectContaining({ code: 'STORE_NOT_WRITABLE' }),
    );
    remount(mount.path, 'rw');
    await seal(run.store, run.attempt, { step: 3 });
    expect(visible(run.path)).toEqual(['step-1', 'step-3']);
  });

  test(`of a prune: all files that it had not deleted yet are there${skipped(reason)}`, async () => {
    using mount = mountLoop('ext4');
    const run = await runOn(mount);
    for (const step of [2, 3]) await seal(run.store, run.attempt, { step });
    const retention = { last: 1, every: null, withinMs: null };
    const pruned = prune(run.store, { retention, onCheck: () => remount(mount.path, 'ro') });
    await expect(pruned).rejects.toMatchObject({ code: 'STORE_NOT_WRITABLE', hint: expect.any(String) });
    expect(visible(run.path)).toEqual(['step-1', 'step-2', 'step-3']);
    expect(await lastGood(run.store, { level: 'deep' })).toMatchObject({ checkpoint: { name: 'step-3' }, skipped: [] });
    remount(mount.path, 'rw');
    await prune(run.store, { retention });
    expect(visible(run.path)).toEqual(['step-3']);
  });

  test(`of a seal: the checkpoint stays unchanged, without a manifest, and can be sealed later${skipped(reason)}`, async () => {
    using mount = mountLoop('ext4');
    const run = await runOn(mount);
    const checkpoint = join(run.path, 'checkpoint-2');
    cpSync(join(TRAINER_RUN, 'checkpoint-2'), checkpoint, { recursive: true });
    const before = readdirSync(checkpoint);
    const onBytes = (phase: 'read' | 'seal') => (phase === 'seal' ? remount(mount.path, 'ro') : undefined);
    await expect(adopt(run.store, checkpoint, { onBytes })).rejects.toMatchObject({ code: 'STORE_NOT_WRITABLE', hint: expect.any(String) });
    expect(readdirSync(checkpoint)).toEqual(before);
    const { code, stderr } = await runProcess(LAUNCHER, ['seal', checkpoint]);
    expect({ code, stderr }).toEqual({
      code: 73,
      stderr: expect.stringMatching(/^error STORE_NOT_WRITABLE: .*mounted read-only\.\n {2}Mount it/),
    });
    // Reading still works.
    expect(await runProcess(LAUNCHER, ['resume', run.path])).toMatchObject({
      code: 0,
      stdout: `${join(run.path, 'step-1')}\n`,
      stderr: '',
    });
    remount(mount.path, 'rw');
    expect(await runProcess(LAUNCHER, ['seal', checkpoint])).toMatchObject({ code: 0 });
  });
});

describe('a volume that fills up', () => {
  const noMounts = whyNoMounts();
  const noLoop = whyNoLoop('ext4');
  const noQuota = whyNoQuota();

  describe.each<[string, string | null, () => Mounted]>([
    ['tmpfs', noMounts, () => mountTmpfs('size=4m')],
    ['ext4', noLoop, () => mountLoop('ext4')],
    ['Btrfs with a quota', noQuota, () => mountWithQuota(16 << 20)],
  ])('%s', (_, reason, make) => {
    const test = it.skipIf(reason !== null);

    test(`while a rank writes its receipt: the last good checkpoint stays, and there is room again${skipped(reason)}`, async () => {
      using mount = make();
      const run = await runOn(mount);
      const save = stagedData(run.store, run.attempt);
      using filler = fill(mount.path);
      await expect(writeReceipt(run.store, save, { rank: 0 })).rejects.toMatchObject({ code: 'STORE_FULL', hint: expect.any(String) });
      abandonSave(run.store, save);
      await expectOnlyStepOne(run);
      filler[Symbol.dispose]();
      await seal(run.store, run.attempt, { step: 3 });
      expect(visible(run.path)).toEqual(['step-1', 'step-3']);
      writeFileSync(join(mount.path, 'filler'), '');
    });

    test(`during the commit: nothing appears under the final name${skipped(reason)}`, async () => {
      using mount = make();
      const run = await runOn(mount);
      const save = stagedData(run.store, run.attempt);
      await writeReceipt(run.store, save, { rank: 0 });
      using _filler = fill(mount.path);
      expect(() => commitSave(run.store, save)).toThrow(expect.objectContaining({ code: 'STORE_FULL' }));
      await expectOnlyStepOne(run);
    });

    test(`during the seal of another tool's checkpoint: the checkpoint stays unchanged, and the exit code is 73${skipped(reason)}`, async () => {
      using mount = make();
      const run = await runOn(mount);
      const checkpoint = join(run.path, 'checkpoint-2');
      cpSync(join(TRAINER_RUN, 'checkpoint-2'), checkpoint, { recursive: true });
      const before = readdirSync(checkpoint);
      using _filler = fill(mount.path);
      const { code, stderr } = await runProcess(LAUNCHER, ['seal', '--quiet', checkpoint]);
      expect({ code, stderr }).toEqual({ code: 73, stderr: expect.stringMatching(/^error STORE_FULL: .*(ENOSPC|EDQUOT)\n {2}Free space/) });
      expect(readdirSync(checkpoint)).toEqual(before);
      expect(await runProcess(LAUNCHER, ['resume', run.path])).toMatchObject({ code: 0, stdout: `${join(run.path, 'step-1')}\n` });
    });
  });
});

describe('a full volume without a sealed checkpoint', () => {
  const reason = whyNoMounts();

  it.skipIf(reason !== null)(`is left unchanged by a failing seal${skipped(reason)}`, async () => {
    using mount = mountTmpfs('size=4m');
    const run = join(mount.path, 'run');
    const checkpoint = join(run, 'checkpoint-2');
    cpSync(join(TRAINER_RUN, 'checkpoint-2'), checkpoint, { recursive: true });
    const before = readdirSync(run, { recursive: true });
    using filler = fill(mount.path);
    const { code, stderr } = await runProcess(LAUNCHER, ['seal', checkpoint]);
    expect({ code, stderr }).toEqual({ code: 73, stderr: expect.stringMatching(/^error STORE_FULL: .*ENOSPC\n/) });
    expect(readdirSync(run, { recursive: true })).toEqual(before);
    filler[Symbol.dispose]();
    expect(await runProcess(LAUNCHER, ['seal', checkpoint])).toMatchObject({ code: 0 });
    writeFileSync(join(mount.path, 'filler'), '');
  });
});

/** A save with its data written and synced, and no receipt yet. */
function stagedData(store: OpenStore, attempt: Attempt): Save {
  const save = beginSave(store, attempt, { step: 2, worldSize: 1 });
  // Enough names that receipt and manifest need blocks of their own.
  for (let index = 0; index < 200; index++) writeFileSync(join(save.data, `shard-${index}`), 'x', { flush: true });
  return save;
}

describe('a user with limited permissions', () => {
  const reason = whyNoLoop('ext4');
  const test = it.skipIf(reason !== null);

  test(`root without rights on a volume (here: root without capabilities, on another user's folder) gets the reason${skipped(reason)}`, async () => {
    using mount = mountLoop('ext4');
    const run = join(mount.path, 'run');
    cpSync(TRAINER_RUN, run, { recursive: true });
    const own = await runProcess(LAUNCHER, ['seal', ...[2, 4, 6].map((step) => join(run, `checkpoint-${step}`))]);
    expect(own).toMatchObject({ code: 0, stderr: '' });
    cpSync(join(TRAINER_RUN, 'checkpoint-6'), join(run, 'export'), { recursive: true });
    await runProcess('chown', ['-R', '1000:1000', run]);
    await runProcess('chmod', ['-R', 'a+rX', run]);
    truncateSync(join(run, 'checkpoint-6/optimizer.pt'), 10);
    const before = readdirSync(run, { recursive: true }).sort();
    const squashed = (...args: readonly string[]) => runProcess('setpriv', ['--bounding-set=-all', '--inh-caps=-all', LAUNCHER, ...args]);
    for (const args of [
      ['seal', join(run, 'export')],
      ['prune', run, '--keep=1'],
      ['rollback', run, '--to=2'],
      ['pin', join(run, 'checkpoint-2')],
    ]) {
      const { code, stdout, stderr } = await squashed(...args);
      expect({ args, code, stdout, stderr }).toMatchObject({
        code: 73,
        stdout: '',
        stderr: expect.stringMatching(/^error STORE_NOT_WRITABLE: .*EACCES\n {2}\S/),
      });
    }
    // The bad one cannot be moved aside, but resume still skips it.
    expect(await squashed('resume', run)).toMatchObject({ code: 0, stdout: `${join(run, 'checkpoint-4')}\n` });
    expect(await squashed('ls', run)).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(run, { recursive: true }).sort()).toEqual(before);
  });

  test(`a user other than root, on a read-only root file system, can do everything in the folder of the run${skipped(reason)}`, async () => {
    using mount = mountLoop('ext4');
    const run = join(mount.path, 'run');
    cpSync(TRAINER_RUN, run, { recursive: true });
    await runProcess('chown', ['-R', '65534:65534', run]);
    chmodSync(dirname(mount.path), 0o755);
    const contained = (...args: readonly string[]) => {
      const nobody = `setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs '${LAUNCHER}' ${args.map((arg) => `'${arg}'`).join(' ')}`;
      const script = `set -e; mount --make-rprivate /; mount -o remount,bind,ro /; ! touch /probe 2>/dev/null; exec ${nobody}`;
      return runProcess('unshare', ['--mount', 'bash', '-c', script], { env: { PATH: process.env['PATH'], HOME: '/nonexistent' } });
    };
    expect(await contained('probe', '--quick', '--json', run)).toMatchObject({ code: 0, stderr: '' });
    expect(await contained('seal', ...[2, 4, 6].map((step) => join(run, `checkpoint-${step}`)))).toMatchObject({ code: 0, stderr: '' });
    expect(await contained('resume', '--deep', run)).toMatchObject({ code: 0, stdout: `${join(run, 'checkpoint-6')}\n`, stderr: '' });
    expect(await contained('prune', run, '--keep=2')).toMatchObject({ code: 0, stderr: '' });
    expect(await contained('rollback', run, '--to=4')).toMatchObject({ code: 0, stderr: '' });
    expect((await contained('ls', run)).stdout).toMatch(/checkpoint-4 {2}← last good/);
  });
});
