import { cpSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { flipBit } from '../../../test/support/fixture-copy.ts';
import { WHOLE } from '../../../test/support/fixtures.ts';
import { safetensorsFile } from '../../../test/support/make-safetensors.ts';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { adopt } from '../adopt/adopt.ts';
import { type Attempt, startAttempt } from '../attempt/attempt.ts';
import { commitSave } from '../commit/commit.ts';
import { lastGood } from './last-good.ts';
import { prune } from '../retention/prune.ts';
import { listQuarantine } from './quarantine.ts';
import { beginSave, writeReceipt } from '../commit/save.ts';
import type { OpenStore } from '../folder/store.ts';

const nameOfLastGood = async (store: OpenStore) => (await lastGood(store)).checkpoint?.name ?? null;

/** A sealed save of which the framework wrote only the first half. */
async function sealHalf(store: OpenStore, attempt: Attempt, step: number): Promise<void> {
  const save = beginSave(store, attempt, { step, worldSize: 1 });
  writeFileSync(join(save.data, 'model.safetensors'), safetensorsFile({ weight: 64 }).subarray(0, 100));
  await writeReceipt(store, save, { rank: 0 });
  commitSave(store, save);
}

describe('the last good checkpoint, when the format’s reader doubts a candidate,', () => {
  it('is an older one, and the sealed one that cannot be loaded stays in place', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    await sealHalf(run.store, attempt, 2);
    for (const level of ['auto', 'deep'] as const) {
      expect(await lastGood(run.store, { level })).toMatchObject({
        checkpoint: { name: 'step-1' },
        warning: null,
        skipped: [
          { name: 'step-2', state: 'doubted', reason: expect.stringMatching(/^every byte matches the seal, but/), quarantined: null },
        ],
      });
    }
    expect(listQuarantine(run.store)).toEqual([]);
  });

  it('is the doubted one, with a warning, when there is no other; prune then deletes nothing', async () => {
    using run = testRun();
    const attempt = await startAttempt(run.store, { gang: 'g' });
    await sealHalf(run.store, attempt, 1);
    await sealHalf(run.store, attempt, 2);
    expect(await lastGood(run.store)).toMatchObject({
      checkpoint: { name: 'step-2' },
      level: 'deep',
      because: 'doubt',
      warning: expect.stringContaining('model.safetensors'),
      skipped: [{ name: 'step-1', state: 'doubted', quarantined: null }],
    });
    const { removed } = await prune(run.store, { retention: { last: 1, every: null, withinMs: null } });
    expect(removed).toEqual([]);
    expect(readdirSync(run.path)).toEqual(['.holdfast', 'step-1', 'step-2']);
  });

  it('is an older one when changed bytes damaged the structure: the candidate is bad, not doubted', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    const save = beginSave(run.store, attempt, { step: 2, worldSize: 1 });
    writeFileSync(join(save.data, 'model.safetensors'), safetensorsFile({ weight: 64 }));
    await writeReceipt(run.store, save, { rank: 0 });
    commitSave(run.store, save);
    expect(await nameOfLastGood(run.store)).toBe('step-2');
    // The length of its header, beyond the end of the file.
    flipBit(join(run.path, 'step-2/model.safetensors'), 2);
    expect((await lastGood(run.store)).skipped).toMatchObject([{ name: 'step-2', state: 'bad', code: 'MANIFEST_CHECKSUM' }]);
    expect(listQuarantine(run.store)).toMatchObject([{ id: 'step-2' }]);
  });

  it('is an adopted one, no matter which files are added later: sealing verified its bytes', async () => {
    using run = testRun();
    cpSync(join(WHOLE, 'hf-trainer-run/data/run/checkpoint-2'), join(run.path, 'checkpoint-2'), { recursive: true });
    await adopt(run.store, join(run.path, 'checkpoint-2'));
    writeFileSync(join(run.path, 'checkpoint-2/model-00002-of-00002.safetensors'), 'half');
    expect(await lastGood(run.store)).toMatchObject({
      checkpoint: { name: 'checkpoint-2' },
      warning: expect.stringContaining('shards of model.safetensors'),
      skipped: [],
    });
  });

  it('is the candidate itself when a copy has made its files sparse', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    const save = beginSave(run.store, attempt, { step: 2, worldSize: 1 });
    const file = safetensorsFile({ weight: 1 << 20 });
    file.fill(0, file.length - (1 << 20));
    writeFileSync(join(save.data, 'model.safetensors'), file);
    await writeReceipt(run.store, save, { rank: 0 });
    commitSave(run.store, save);
    const copy = join(run.path, 'step-2/model.safetensors');
    truncateSync(copy, file.length - (1 << 20));
    truncateSync(copy, file.length);
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'step-2' }, warning: null, skipped: [] });
  });
});
