import { describe, expect, it } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { type LoopKind, whyNoLoop } from '../../support/mounts.ts';
import { cutPower } from './cuts.ts';
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
    const { faults, cuts, frameworks } = await cutPower({ kind, count: CUTS, rng: createRng(SEED).fork(kind), python });
    expect(faults).toEqual([]);
    expect(cuts).toBeGreaterThan(CUTS / 2);
    // If unsynced saves lose nothing, no power was cut.
    const lost = [...frameworks.values()].reduce((sum, { older, nothing }) => sum + older + nothing, 0);
    if (python !== null) expect(lost).toBeGreaterThan(0);
  });
});
