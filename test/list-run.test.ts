import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Attempt, startAttempt } from '../src/checkpoint/store/attempt.ts';
import { commitSave } from '../src/checkpoint/store/commit.ts';
import { beginSave, writeReceipt } from '../src/checkpoint/store/save.ts';
import type { OpenStore } from '../src/checkpoint/store/store.ts';
import { listRun } from '../src/cli/store/list-run.ts';
import { VirtualClock } from '../src/core/clock.ts';
import { safetensorsFile } from './support/make-safetensors.ts';
import { testRun } from './support/sealed-run.ts';

const list = (path: string, level: 'quick' | 'deep' = 'quick') =>
  listRun(path, { clock: new VirtualClock(), signal: new AbortController().signal, level, onProgress: () => {} });

async function sealFiles(store: OpenStore, attempt: Attempt, step: number, files: Readonly<Record<string, Uint8Array>>): Promise<void> {
  const save = beginSave(store, attempt, { step, worldSize: 1 });
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(save.data, name), bytes);
  await writeReceipt(store, save, { rank: 0 });
  commitSave(store, save);
}

const manyFiles = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`shard-${index}`, Buffer.from('x')]));

it('ls reads the structure of the newest and holds what lies beyond a thousand files against its seal', async () => {
  using run = testRun();
  const attempt = await startAttempt(run.store, { gang: 'g' });
  for (const step of [1, 2, 3]) await sealFiles(run.store, attempt, step, manyFiles(600));
  rmSync(join(run.path, 'step-1/shard-7'));
  expect((await list(run.path)).checkpoints).toMatchObject([
    { step: 3, level: 'quick', isLastGood: true },
    { step: 2, level: 'seal', verdict: 'UNCHECKED', state: 'good' },
    { step: 1, level: null, state: 'bad', code: 'FILE_MISSING' },
  ]);
  expect((await list(run.path, 'deep')).checkpoints.map(({ level }) => level)).toEqual(['deep', 'deep', null]);
});

it('ls marks the one that resume would take: the newest without a doubt, else the newest', async () => {
  using run = testRun();
  const attempt = await startAttempt(run.store, { gang: 'g' });
  const half = { 'model.safetensors': safetensorsFile({ weight: 64 }).subarray(0, 100) };
  await sealFiles(run.store, attempt, 1, half);
  await sealFiles(run.store, attempt, 2, half);
  expect(await list(run.path)).toMatchObject({
    lastGood: join(run.path, 'step-2'),
    checkpoints: [
      { step: 2, state: 'doubted' },
      { step: 1, state: 'doubted' },
    ],
  });
  await sealFiles(run.store, attempt, 0, { 'model.safetensors': safetensorsFile({ weight: 64 }) });
  expect((await list(run.path)).lastGood).toBe(join(run.path, 'step-0'));
});
