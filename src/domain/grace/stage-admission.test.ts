import { describe, expect, it } from 'vitest';
import { admitStage, type StageFacts } from './stage-admission.ts';

const GIB = 2 ** 30;
const FACTS: StageFacts = {
  lastBytes: 4 * GIB,
  keptBytes: 0,
  freeBytes: 100 * GIB,
  isShared: false,
  container: null,
  availableBytes: null,
  riseBytes: 0,
};

describe('the admission of a save to memory', () => {
  it.each<[string, Partial<StageFacts>, string | null]>([
    ['when nothing speaks against it', {}, null],
    ['but not the first one, of which nobody knows the size', { lastBytes: null }, 'unmeasured'],
    ['with a quarter to spare', { freeBytes: 5 * GIB }, null],
    ['but not with less', { freeBytes: 5 * GIB - 1 }, 'room'],
    ['leaving half of a shared place to others', { isShared: true, freeBytes: 10 * GIB }, null],
    ['but not more than half of a shared place', { isShared: true, freeBytes: 10 * GIB - 2 }, 'room'],
    ['below the limit of the container', { container: { limitBytes: 20 * GIB, usedBytes: 15 * GIB, isRequest: false } }, null],
    ['but not above it', { container: { limitBytes: 20 * GIB, usedBytes: 15 * GIB + 1, isRequest: false } }, 'container'],
    [
      'but not into what the trainer will want again',
      { container: { limitBytes: 20 * GIB, usedBytes: 14 * GIB, isRequest: true }, riseBytes: 2 * GIB },
      'container',
    ],
    ['of a machine that has it', { availableBytes: 6 * GIB, riseBytes: GIB }, null],
    ['but not of one that has not', { availableBytes: 6 * GIB, riseBytes: 2 * GIB }, 'machine'],
    ['into memory that is kept for it', { keptBytes: 4 * GIB, freeBytes: GIB }, null],
    ['but not when it may need more than that', { keptBytes: 4 * GIB, freeBytes: GIB - 1 }, 'room'],
    ['also an empty one', { lastBytes: 0, freeBytes: 0 }, null],
  ])('%s', (_, facts, why) => {
    const admission = admitStage({ ...FACTS, ...facts });
    expect(admission.isAdmitted ? null : admission.why).toBe(why);
  });

  it('names the numbers when the save does not fit', () => {
    const container = { limitBytes: 20 * GIB, usedBytes: 19 * GIB };
    const reasonOf = (isRequest: boolean) => admitStage({ ...FACTS, container: { ...container, isRequest }, riseBytes: 3 * GIB });
    const reason = (bound: string) => ({
      reason: `a save needs 5 GiB, and 0 B are left below ${bound} of the container at the trainer’s peak`,
    });
    expect(reasonOf(false)).toMatchObject(reason('the limit'));
    expect(reasonOf(true)).toMatchObject(reason('the memory request'));
  });
});
