import { describe, expect, it } from 'vitest';
import type { TerminationMessage } from '../../domain/exit/termination-message.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';
import { gang, type GangWorld } from '../../../test/operator/gang-world.ts';
import { lastWords } from '../../../test/operator/last-words.ts';

/** The gang trains, and its last report is half a minute old. */
async function training(): Promise<GangWorld> {
  const world = gang();
  await world.start();
  const unmeasured = { loss: null, trial: null, unsavedAcceleratorSeconds: null, saveSeconds: null };
  const readMs = world.clock.now();
  world.progress = { step: 100, lastGoodStep: 50, lastGoodAgeMs: 30_000, accelerators: 4, readMs, ...unmeasured };
  await world.clock.advance(60_000);
  await world.settle();
  return world;
}

/** The supervisor of the master ends, and leaves these words. */
function endMaster(world: GangWorld, words: Partial<TerminationMessage>): void {
  const message = lastWords({ atMs: world.clock.now(), ...words });
  const terminated = { exitCode: 143, reason: 'Error', message };
  world.setStatus('j-master-0', { phase: 'Failed', containerStatuses: [{ name: PYTORCH_JOB.container, state: { terminated } }] });
}

describe('the last words of the supervisor of rank 0', () => {
  it('replace what an interruption seemed to cost before the last save', async () => {
    const world = await training();
    world.remove('j-worker-1');
    await world.settle();
    expect(world.run['status']).toMatchObject({
      attempts: [{ end: { lostSteps: 50, lostSeconds: 90 } }, {}],
      totals: { lostSteps: 50, lostSeconds: 60, lostAcceleratorSeconds: 240 },
    });
    endMaster(world, {});
    await world.settle();
    const exact = {
      attempts: [{ end: { cause: 'POD_DELETED', lostSteps: 0, lostSeconds: 0 } }, {}],
      totals: { lostSteps: 0, lostSeconds: 0, lostAcceleratorSeconds: 0, trainedSeconds: 60, goodputPercent: 100 },
      progress: { step: 103, lastGoodStep: 103 },
      budgets: { interruptions: 1, errors: 0 },
    };
    expect(world.run['status']).toMatchObject(exact);
    world.finishAll();
    world.progress = null;
    await world.settle();
    expect(world.run['status']).toMatchObject({ ...exact, attempt: 2 });
  });

  it('count also where the operator sees them together with the end', async () => {
    const world = await training();
    endMaster(world, { flush: 'missed', lastGoodStep: 90, lostSteps: 13, lostMs: 7000 });
    await world.settle();
    expect(world.run['status']).toMatchObject({
      attempts: [{ end: { lostSteps: 13, lostSeconds: 7 } }, {}],
      totals: { lostSteps: 13, lostSeconds: 7, lostAcceleratorSeconds: 28 },
      progress: { lastGoodStep: 90 },
    });
  });

  it('are not final while they are provisional, and leave what they do not know', async () => {
    const world = await training();
    world.remove('j-worker-1');
    await world.settle();
    for (const words of [{ provisional: true }, { lostSteps: null, lostMs: null, step: null, lastGoodStep: null }]) {
      endMaster(world, words);
      await world.settle();
      expect(world.run['status']).toMatchObject({
        attempts: [{ end: { lostSteps: 50, lostSeconds: 90 } }, {}],
        progress: { lastGoodStep: 50 },
      });
    }
  });
});
