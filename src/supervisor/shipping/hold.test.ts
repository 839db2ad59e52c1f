import { describe, expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { listPins, pin, unpin } from '../../store/retention/pins.ts';
import { prune } from '../../store/retention/prune.ts';
import { findSealed } from '../../store/attempt/roll-back.ts';
import { holdWhileSent, releaseHeld } from './hold.ts';

const RETENTION = { last: 1, every: null, withinMs: null };

describe('a checkpoint that is being sent', () => {
  it('is kept until it is sent, and no longer', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const letGo = holdWhileSent(run.store, findSealed(run.store, '1'));
    expect((await prune(run.store, { retention: RETENTION })).removed).toEqual([]);
    letGo();
    expect((await prune(run.store, { retention: RETENTION })).removed).toMatchObject([{ name: 'step-1' }]);
  });

  it('is kept for good when the user pins it meanwhile', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const checkpoint = findSealed(run.store, '1');
    const letGo = holdWhileSent(run.store, checkpoint);
    pin(run.store, checkpoint);
    letGo();
    expect([...listPins(run.store)]).toEqual(['step-1']);
    expect((await prune(run.store, { retention: RETENTION })).removed).toEqual([]);
  });

  it('is kept until it is sent, even when the user unpins it meanwhile', async () => {
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

  it('is released by the next process when its sender was killed', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    holdWhileSent(run.store, findSealed(run.store, '1'));
    releaseHeld(run.store);
    releaseHeld(run.store);
    expect((await prune(run.store, { retention: RETENTION })).removed).toMatchObject([{ name: 'step-1' }]);
  });
});
