import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Attempt, startAttempt } from '../src/store/attempt/attempt.ts';
import { lastGood } from '../src/store/resume/last-good.ts';
import { findSealed, rollBack } from '../src/store/attempt/roll-back.ts';
import { commitSave } from '../src/store/commit/commit.ts';
import { beginSave, writeReceipt } from '../src/store/commit/save.ts';
import { type OpenStore, readRun } from '../src/store/folder/store.ts';
import { createStyle } from '../src/cli/output/style.ts';
import { listRun } from '../src/cli/commands/ls/list-run.ts';
import { renderList } from '../src/cli/commands/ls/render-list.ts';
import { VirtualClock } from '../src/core/clock.ts';
import { safetensorsFile } from './support/make-safetensors.ts';
import { runCommand } from './support/run-command.ts';
import { sealSteps, testRun } from './support/sealed-run.ts';

const list = (path: string, level: 'quick' | 'deep' = 'quick') =>
  listRun(path, { clock: new VirtualClock(), signal: new AbortController().signal, level, onProgress: () => {} });

const PLAIN = { style: createStyle({ stream: process.stdout, env: {}, noColor: true }), columns: 200 };

async function sealFiles(store: OpenStore, attempt: Attempt, step: number, files: Readonly<Record<string, Uint8Array>>): Promise<void> {
  const save = beginSave(store, attempt, { step, worldSize: 1 });
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(save.data, name), bytes);
  await writeReceipt(store, save, { rank: 0 });
  commitSave(store, save);
}

const manyFiles = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`shard-${index}`, Buffer.from('x')]));

it('ls reads the structure of the newest checkpoint, and compares the files beyond the first thousand with its seal', async () => {
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

it('ls marks the checkpoint that resume would take: the newest undoubted one, else the newest', async () => {
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

it('ls warns when resume would read every byte first, unless ls has already read them', async () => {
  using run = testRun();
  await sealSteps(run.store, 'g', 1);
  const report = await list(run.path);
  expect(report).toMatchObject({ lastGood: join(run.path, 'step-1'), readFirst: 'boot' });
  expect(renderList(report, PLAIN, 0).at(-1)).toMatch(/resumes from .* if its bytes match its seal.* restarted.* --deep/);
  expect(await list(run.path, 'deep')).toMatchObject({ readFirst: null });
  await lastGood(readRun(run.path));
  expect(await list(run.path)).toMatchObject({ readFirst: null });
});

it('ls, resume and prune all report that every sealed checkpoint lies in quarantine', async () => {
  using run = testRun();
  await sealSteps(run.store, 'g', 1);
  rmSync(join(run.path, 'step-1/shard-0'));
  await lastGood(run.store);
  const report = await list(run.path);
  expect(report).toMatchObject({ lastGood: null, isWithheld: true, quarantined: [{ name: 'step-1' }] });
  expect(renderList(report, PLAIN, 0).at(-1)).toContain('in quarantine');
  for (const [command, ...args] of [['ls'], ['resume'], ['prune', '--keep=1']] as const) {
    const { code, stdout, stderr } = await runCommand([command, run.path, ...args]);
    expect([command, code]).toEqual([command, 1]);
    expect(`${stdout}${stderr}`).toContain('quarantine');
  }
  await rollBack(run.store, null);
  expect(await list(run.path)).toMatchObject({ isWithheld: false });
});

it('ls and resume both report that the target of a rollback is missing', async () => {
  using run = testRun();
  await sealSteps(run.store, 'g', 1, 2);
  await rollBack(run.store, findSealed(run.store, '1'));
  expect(await list(run.path)).toMatchObject({ missingTarget: null });
  rmSync(join(run.path, 'step-1'), { recursive: true });
  const report = await list(run.path);
  expect(report).toMatchObject({ lastGood: null, missingTarget: { name: 'step-1', step: 1 } });
  expect(renderList(report, PLAIN, 0).at(-1)).toContain('rolled back to step-1, step 1, which does not exist here');
  for (const command of ['ls', 'resume']) {
    const { code, stdout, stderr } = await runCommand([command, run.path]);
    expect([command, code]).toEqual([command, 1]);
    expect(`${stdout}${stderr}`).toContain('rolled back to step-1');
  }
});
