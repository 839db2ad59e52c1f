import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { scan } from '../../store/folder/scan.ts';
import { OlderCheckpoints } from './older-checkpoints.ts';

describe('the checkpoints that a run can resume from', () => {
  it('are listed by step, the newest first, up to a small limit', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', ...Array.from({ length: 20 }, (_, at) => at + 1));
    expect(new OlderCheckpoints(run.store).steps).toEqual(Array.from({ length: 16 }, (_, at) => 20 - at));
  });

  it('are accepted by step once every byte matches the seal', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const [, older] = scan(run.store).sealed;
    expect(await new OlderCheckpoints(run.store).take(1)).toMatchObject({ path: older?.path, step: 1, save: older?.manifest.save });
  });

  it('are refused with the reason when a byte differs, and stay in place', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const [, older] = scan(run.store).sealed;
    const [file] = older?.manifest.files ?? [];
    writeFileSync(join(older?.path ?? '', file?.path ?? ''), Buffer.alloc(file?.size ?? 0, 255));
    expect(await new OlderCheckpoints(run.store).take(1)).toMatch(/^step-1 is not good: /);
    expect(scan(run.store).sealed.map(({ name }) => name)).toEqual(['step-2', 'step-1']);
  });

  it('are refused when none has the requested step', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    expect(await new OlderCheckpoints(run.store).take(7)).toBe('there is no sealed checkpoint of step 7 here');
  });

  it('invalidate newer ones once all ranks resume from an older one, and later saves count', async () => {
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

  it('all stay valid when all ranks resume from the newest', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    expect(await new OlderCheckpoints(run.store).goBack(2, 2)).toMatchObject({ step: 2 });
    expect(scan(run.store)).toMatchObject({ rollback: null, rolledBack: [] });
  });
});
