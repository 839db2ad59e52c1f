import { describe, expect, it } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { type LoopKind, whyNoLoop } from '../../support/mounts.ts';
import { cutPower, lossesOf } from './cuts.ts';
import { findTorch } from './framework-saves.ts';

const SEED = 2;
/** `npm run crash:long -- --part cuts` makes more. */
const CUTS = 6;

const torch = findTorch();
const python = 'python' in torch ? torch.python : null;

describe.each<LoopKind>(['ext4', 'xfs', 'btrfs'])('a loss of power on %s', (kind) => {
  const reason = whyNoLoop(kind);

  it.skipIf(reason !== null)(`loses no sealed checkpoint${reason === null ? '' : ` (skipped: ${reason})`}`, async ({ annotate }) => {
    if ('missing' in torch) await annotate(`no frameworks beside: ${torch.missing}`);
    const result = await cutPower({ kind, count: CUTS, rng: createRng(SEED).fork(kind), python });
    expect(result.faults).toEqual([]);
    expect(result.cuts).toBeGreaterThan(CUTS / 2);
    // If unsynced saves lose nothing, no power was cut.
    if (python !== null) expect(lossesOf(result)).toBeGreaterThan(0);
  });
});
