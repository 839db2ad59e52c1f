import { describe, expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { listPins, pin, unpin } from '../../checkpoint/store/pins.ts';
import { prune } from '../../checkpoint/store/prune.ts';
import { findSealed } from '../../checkpoint/store/roll-back.ts';
import { holdWhileSent, releaseHeld } from './hold.ts';

const RETENTION = { last: 1, every: null, withinMs: null };

describe('what is being sent', () => {
  it('is kept until it has been sent, and no longer', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const letGo = holdWhileSent(run.store, findSealed(run.store, '1'));
    expect((await prune(run.store, { retention: RETENTION })).removed).toEqual([]);
    letGo();
    expect((await prune(run.store, { retention: RETENTION })).removed).toMatchObject([{ name: 'step-1' }]);
  });

  it('is kept for good when a person pins it meanwhile', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const checkpoint = findSealed(run.store, '1');
    const letGo = holdWhileSent(run.store, checkpoint);
    pin(run.store, checkpoint);
    letGo();
    expect([...listPins(run.store)]).toEqual(['step-1']);
    expect((await prune(run.store, { retention: RETENTION })).removed).toEqual([]);
  });

  it('is kept until it has been sent, also when a person unpins it meanwhile', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const checkpoint = findSealed(run.store, '1');
    pin(run.store, checkpoint);
    const letGo = holdWhileSent(run.store, checkpoint);
    unpin(run.store, checkpoint.name);
    expect((await prune(run.store, { retention: RETENTION })).removed).toEqual([]);
    letGo();
    expect((await prune(run.store, { retention: RETENTION })).removed).toMatchObject([{ name: 'step-1' }]);
  });

  it('is let go of by the next process when the one that sent it was killed', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    holdWhileSent(run.store, findSealed(run.store, '1'));
    releaseHeld(run.store);
    releaseHeld(run.store);
    expect((await prune(run.store, { retention: RETENTION })).removed).toMatchObject([{ name: 'step-1' }]);
  });
});
