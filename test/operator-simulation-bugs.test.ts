import { beforeEach, describe, expect, it, vi } from 'vitest';
import type * as Budgets from '../src/domain/gang/budgets.ts';
import type * as LostNodes from '../src/domain/gang/lost-node.ts';
import type * as PodEnds from '../src/domain/gang/pod-end.ts';
import { WIRE_BUGS } from './simulation/bugs.ts';
import { simulate, type Spoil } from './simulation/simulate.ts';

/** The decision that is wrong now. */
const planted = vi.hoisted(() => ({ bug: '' }));

vi.mock('../src/domain/gang/pod-end.ts', async (original) => {
  const real = await original<typeof PodEnds>();
  const judgePod = (facts: PodEnds.PodFacts): PodEnds.PodEnd =>
    real.judgePod(planted.bug === 'trusts every exit 0' ? { ...facts, trustsExitZero: true } : facts);
  return { ...real, judgePod };
});

vi.mock('../src/domain/gang/budgets.ts', async (original) => {
  const real = await original<typeof Budgets>();
  const spend: typeof real.spend = (before, end) =>
    real.spend(
      before,
      planted.bug === 'lets interruptions spend the budget' && end.action === 'restart' ? { ...end, action: 'spend' } : end,
    );
  return { ...real, spend };
});

vi.mock('../src/domain/gang/lost-node.ts', async (original) => {
  const real = await original<typeof LostNodes>();
  const wasSilentAt: typeof real.wasSilentAt = (endedMs, loss) => {
    if (planted.bug === 'never looks back at a lost node') return false;
    return planted.bug === 'blames any lost node' || real.wasSilentAt(endedMs, loss);
  };
  const openUntilMs: typeof real.openUntilMs = (failure, heardMs) =>
    planted.bug === 'fails a job before the fate of a silent node is known' ? null : real.openUntilMs(failure, heardMs);
  return { ...real, wasSilentAt, openUntilMs };
});

const MOST_SEEDS = 150;

/** The first seed that finds a bug; null: none does. */
async function firstSeed(spoil?: Spoil): Promise<number | null> {
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const { faults } = await simulate(seed, spoil === undefined ? {} : { spoil });
    if (faults.length > 0) return seed;
  }
  return null;
}

describe('the simulation finds an operator that', () => {
  beforeEach(() => {
    planted.bug = '';
  });

  it.each(Object.entries(WIRE_BUGS))('%s', async (_, spoil) => {
    expect(await firstSeed(spoil)).not.toBeNull();
  });

  it.each([
    'trusts every exit 0',
    'lets interruptions spend the budget',
    'never looks back at a lost node',
    'blames any lost node',
    'fails a job before the fate of a silent node is known',
  ])('%s', async (bug) => {
    planted.bug = bug;
    expect(await firstSeed()).not.toBeNull();
  });
});
