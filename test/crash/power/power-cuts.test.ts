import { describe, expect, it } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { type LoopKind, whyNoLoop } from '../../support/mounts.ts';
import { cutPower } from './cuts.ts';

const SEED = 2;
const CUTS = 12;

describe.each<LoopKind>(['ext4', 'xfs', 'btrfs'])('a loss of power on %s', (kind) => {
  const reason = whyNoLoop(kind);

  it.skipIf(reason !== null)(`takes nothing that was sealed${reason === null ? '' : ` (skipped: ${reason})`}`, async () => {
    const { faults, cuts } = await cutPower(kind, CUTS, createRng(SEED).fork(kind));
    expect(faults).toEqual([]);
    expect(cuts).toBeGreaterThan(CUTS / 2);
  });
});
