import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, testRun } from '../../test/support/sealed-run.ts';
import { scan } from '../checkpoint/store/scan.ts';
import { OlderCheckpoints } from './older-checkpoints.ts';

describe('the checkpoints that a run could go on from', () => {
  it('are named by their steps, the newest first, and no more than a few', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', ...Array.from({ length: 20 }, (_, at) => at + 1));
    expect(new OlderCheckpoints(run.store).steps).toEqual(Array.from({ length: 16 }, (_, at) => 20 - at));
  });

  it('are taken by their step, once every byte is what was sealed', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const [, older] = scan(run.store).sealed;
    expect(await new OlderCheckpoints(run.store).take(1)).toMatchObject({ path: older?.path, step: 1, save: older?.manifest.save });
  });

  it('are refused with the reason where a byte is another, and stay where they are', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const [, older] = scan(run.store).sealed;
    const [file] = older?.manifest.files ?? [];
    writeFileSync(join(older?.path ?? '', file?.path ?? ''), Buffer.alloc(file?.size ?? 0, 255));
    expect(await new OlderCheckpoints(run.store).take(1)).toMatch(/^step-1 is not good: /);
    expect(scan(run.store).sealed.map(({ name }) => name)).toEqual(['step-2', 'step-1']);
  });

  it('are refused where there is none of that step', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    expect(await new OlderCheckpoints(run.store).take(7)).toBe('there is no sealed checkpoint of step 7 here');
  });

  it('make what is newer count no more, once all ranks go on from one of them; what follows counts', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    expect(await new OlderCheckpoints(run.store).goBack(2, 2)).toMatchObject({ step: 2 });
    const stepsNow = () => scan(run.store).sealed.map(({ manifest: { attempt, step } }) => [attempt, step]);
    expect(stepsNow()).toEqual([
      [1, 2],
      [1, 1],
    ]);
    await sealSteps(run.store, 'again', 3);
    expect(stepsNow()).toEqual([
      [2, 3],
      [1, 2],
      [1, 1],
    ]);
  });

  it('leave everything as it is where all ranks go on from the newest', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    expect(await new OlderCheckpoints(run.store).goBack(2, 2)).toMatchObject({ step: 2 });
    expect(scan(run.store)).toMatchObject({ rollback: null, rolledBack: [] });
  });
});
