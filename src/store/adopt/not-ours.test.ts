import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { startAttempt } from '../attempt/attempt.ts';
import { commitSave } from '../commit/commit.ts';
import { realFs } from '../disk/durable-fs.ts';
import { lastGood } from '../resume/last-good.ts';
import { listPins } from '../retention/pins.ts';
import { prune } from '../retention/prune.ts';
import { listQuarantine, quarantine } from '../resume/quarantine.ts';
import { scan } from '../folder/scan.ts';
import { readRun } from '../folder/store.ts';

const KEEP_ONE = { last: 1, every: null, withinMs: null };

/**
 * Entries that can replace one of our files. Opening the first blocks for ever; reading the second
 * never ends.
 */
const STRANGERS: readonly (readonly [string, (path: string) => void])[] = [
  ['a pipe', (path) => void execFileSync('mkfifo', [path])],
  ['a device without end', (path) => symlinkSync('/dev/zero', path)],
  ['a folder', (path) => mkdirSync(path)],
  ['a file without end', (path) => (writeFileSync(path, ''), truncateSync(path, 2 ** 40))],
];

describe.each(STRANGERS)('%s', (_, put) => {
  const replace = (path: string): void => {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(dirname(path), { recursive: true });
    put(path);
  };

  it('in place of a manifest is reported, and resume uses the older checkpoint', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    replace(join(run.path, 'step-2/holdfast.manifest.json'));
    const { checkpoint, skipped } = await lastGood(run.store);
    expect(checkpoint?.name).toBe('step-1');
    expect(skipped).toMatchObject([{ name: 'step-2', code: 'MANIFEST_INVALID', quarantined: null }]);
  });

  it('in place of a manifest beside its file is reported', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    writeFileSync(join(run.path, 'model.pt'), 'x');
    replace(join(run.path, 'model.pt.holdfast.json'));
    expect(scan(run.store).broken).toMatchObject([{ name: 'model.pt' }]);
  });

  it('in place of the pointer is harmless, and the next save replaces it', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    const pointer = join(run.path, '.holdfast/last-good.json');
    replace(pointer);
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-1');
  });

  it('in place of a receipt makes the commit refuse the save with the reason', async () => {
    using run = testRun();
    const save = await stagedSave(run.store, await startAttempt(run.store, { gang: 'g' }), { step: 1 });
    replace(join(save.folder, 'receipts/rank-0.json'));
    expect(() => commitSave(run.store, save)).toThrow(expect.objectContaining({ code: 'SAVE_INCOMPLETE' }));
  });

  it('in place of an attempt’s own file is reported as damage; in place of its deadline it ends the wait', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    replace(join(run.path, '.holdfast/attempts/1/deadline.json'));
    expect((await startAttempt(run.store, { gang: 'h' })).attempt).toBe(2);
    replace(join(run.path, '.holdfast/attempts/2/attempt.json'));
    await expect(startAttempt(run.store, { gang: 'i' })).rejects.toMatchObject({ code: 'RUN_DAMAGED' });
  });

  it('in place of the run’s own file, or of a rollback, is reported as damage', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    replace(join(run.path, '.holdfast/rollback.json'));
    await expect(lastGood(run.store)).rejects.toMatchObject({ code: 'RUN_DAMAGED' });
    replace(join(run.path, '.holdfast/run.json'));
    expect(() => readRun(run.path)).toThrow(expect.objectContaining({ code: 'RUN_DAMAGED' }));
  });

  it('in place of a pin counts as a pin; in place of a quarantine’s reason it is reported as unreadable', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    const [newest] = scan(run.store).sealed;
    if (newest !== undefined) quarantine(run.store, newest, { code: 'X', reason: 'x' });
    replace(join(run.path, '.holdfast/quarantine/step-3/reason.json'));
    expect(listQuarantine(run.store)).toMatchObject([{ name: 'step-3', reason: 'the reason cannot be read' }]);
    replace(join(run.path, '.holdfast/pins/step-1'));
    expect([...listPins(run.store)]).toEqual(['step-1']);
    expect((await prune(run.store, { retention: KEEP_ONE })).removed).toEqual([]);
  });

  it('in a trash entry is deleted unopened', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    replace(join(run.path, '.holdfast/trash/left/holdfast.manifest.json'));
    await prune(run.store, { retention: KEEP_ONE });
    expect(realFs.list(join(run.path, '.holdfast/trash'))).toEqual([]);
  });
});

it('a socket in place of a checkpoint’s file is reported as no regular file', async () => {
  using run = testRun();
  await sealSteps(run.store, 'g', 1, 2);
  const file = join(run.path, 'step-2/shard-0');
  rmSync(file);
  const server = createServer().listen(file);
  try {
    await new Promise((resolve) => server.once('listening', resolve));
    expect(await lastGood(run.store, { isReadOnly: true })).toMatchObject({
      checkpoint: { name: 'step-1' },
      skipped: [{ code: 'FILE_NOT_REGULAR' }],
    });
  } finally {
    server.close();
  }
});

it('a manifest without read permission is reported, and its checkpoint stays', async () => {
  using run = testRun();
  await sealSteps(run.store, 'g', 1, 2);
  const fs = {
    ...realFs,
    readFile(path: string) {
      if (path.endsWith('step-2/holdfast.manifest.json')) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
      return realFs.readFile(path);
    },
  };
  const found = await lastGood({ ...run.store, fs });
  expect(found).toMatchObject({ checkpoint: { name: 'step-1' }, skipped: [{ name: 'step-2', state: 'unreadable', quarantined: null }] });
  const { removed } = await prune({ ...run.store, fs }, { retention: KEEP_ONE });
  expect(removed).toEqual([]);
  expect(statSync(join(run.path, 'step-2')).isDirectory()).toBe(true);
});
