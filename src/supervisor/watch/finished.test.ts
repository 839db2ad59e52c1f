import { describe, expect, it } from 'vitest';
import type { CheckpointReport } from '../../verify/report.ts';
import { Finishing, mayStillGrow } from './finished.ts';
import type { Entry } from './look.ts';

type Report = Pick<CheckpointReport, 'format' | 'content'>;

function report(id: string, facts: { where?: readonly string[]; ranks?: readonly number[]; expected?: number | null } = {}): Report {
  const { where = [], ranks = [], expected = null } = facts;
  const nothing = { found: false, where: [] };
  return {
    format: { id, title: id },
    content: {
      ...{ weights: nothing, optimizer: nothing, scheduler: nothing, step: { found: false, value: null } },
      ...{ worldSize: null, isOpaque: false, missing: [] },
      rng: { found: where.length > 0, where, ranks, expectedRanks: expected },
    },
  };
}
const entry = (name: string, stamp = '1'): Entry => ({
  ...{ name, path: name, kind: 'directory', manifestFile: '', hasSeal: false },
  stamps: new Map([['file', stamp]]),
});

describe('whether a checkpoint that looks whole may still grow', () => {
  it.each([
    ['not when it is one file', report('torch-zip'), false],
    ['not when its format ends with a marker', report('dcp'), false],
    ['not when a single process of the Trainer wrote it', report('hf-trainer', { where: ['out/rng_state.pth'] }), false],
    ['when ranks of the Trainer write theirs', report('hf-trainer', { where: ['out/rng_state_0.pth'], ranks: [0] }), true],
    [
      'not when every rank that it names is there',
      report('hf-trainer', { where: ['rng_state_0.pth', 'rng_state_1.pth'], ranks: [0, 1], expected: 2 }),
      false,
    ],
    ['when nothing says how many ranks there are', report('accelerate', { where: ['random_states_0.pkl'], ranks: [0] }), true],
  ] as const)('%s', (_, one, expected) => {
    expect(mayStillGrow(one)).toBe(expected);
  });
});

describe('a checkpoint that may still grow', () => {
  const growing = report('accelerate', { ranks: [0] });

  it('counts as finished once a newer checkpoint of its format appears', () => {
    const finishing = new Finishing();
    finishing.note(entry('checkpoint_0'), growing, 0);
    expect(finishing.isFinished(entry('checkpoint_0'), growing, 1)).toBe(false);
    expect(finishing.isWaiting(entry('checkpoint_0'))).toBe(true);
    finishing.note(entry('model.pt'), report('torch-zip'), 2);
    expect(finishing.isWaiting(entry('checkpoint_0'))).toBe(true);
    finishing.note(entry('checkpoint_1'), growing, 3);
    expect(finishing.isWaiting(entry('checkpoint_0'))).toBe(false);
    expect(finishing.isFinished(entry('checkpoint_0'), growing, 4)).toBe(true);
    expect(finishing.isFinished(entry('checkpoint_1'), growing, 4)).toBe(false);
  });

  it('waits again when it changes after the newer checkpoint appeared', () => {
    const finishing = new Finishing();
    finishing.note(entry('checkpoint_1'), growing, 3);
    expect(finishing.isFinished(entry('checkpoint_0', '1'), growing, 2)).toBe(true);
    expect(finishing.isFinished(entry('checkpoint_0', '2'), growing, 5)).toBe(false);
    expect(finishing.isWaiting(entry('checkpoint_0', '3'))).toBe(false);
  });

  it('is dropped from memory when it is deleted', () => {
    const finishing = new Finishing();
    finishing.note(entry('checkpoint_1'), growing, 3);
    finishing.keepOnly(new Set(['checkpoint_0']));
    expect(finishing.isFinished(entry('checkpoint_0'), growing, 2)).toBe(false);
  });
});
