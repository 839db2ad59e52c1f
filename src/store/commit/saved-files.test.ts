import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { seal, testRun } from '../../../test/support/sealed-run.ts';
import { copyImage } from '../../supervisor/saves/staging/copy-image.ts';
import { startAttempt } from '../attempt/attempt.ts';
import { realFs } from '../disk/durable-fs.ts';
import { lastGood } from '../resume/last-good.ts';
import { commitSave } from './commit.ts';
import { beginSave, writeReceipt } from './save.ts';

const MANIFEST = 'holdfast.manifest.json';

it('a save is sealed without the old manifest that the trainer copied from the checkpoint it resumed from', async () => {
  using run = testRun();
  const attempt = await startAttempt(run.store, { gang: 'g' });
  const older = await seal(run.store, attempt, { step: 1 });
  const save = beginSave(run.store, attempt, { step: 2, worldSize: 1 });
  for (const name of readdirSync(older.path)) copyFileSync(join(older.path, name), join(save.data, name));
  await writeReceipt(run.store, save, { rank: 0 });
  const sealed = commitSave(run.store, save);
  expect(sealed.manifest.files.map(({ path }) => path)).toEqual(['shard-0']);
  expect(readFileSync(join(older.path, MANIFEST), 'utf8')).not.toBe(readFileSync(join(sealed.path, MANIFEST), 'utf8'));
  expect((await lastGood(run.store, { level: 'deep' })).checkpoint?.name).toBe('step-2');
});

it('a save is sealed without an old manifest that the trainer copies after the receipt', async () => {
  using run = testRun();
  const attempt = await startAttempt(run.store, { gang: 'g' });
  const save = beginSave(run.store, attempt, { step: 2, worldSize: 1 });
  writeFileSync(join(save.data, 'state'), 'everything');
  await writeReceipt(run.store, save, { rank: 0 });
  writeFileSync(join(save.data, MANIFEST), 'of another');
  expect(commitSave(run.store, save).manifest.step).toBe(2);
});

it('a save in memory reaches the disk without an old manifest', async () => {
  using run = testRun();
  const [from, to] = [join(run.path, 'from'), join(run.path, 'to')];
  for (const folder of [from, to]) mkdirSync(folder);
  for (const name of ['state', MANIFEST]) writeFileSync(join(from, name), 'x');
  await copyImage(realFs, from, to, { signal: new AbortController().signal, onBytes: () => {} });
  expect(readdirSync(to)).toEqual(['state']);
});
