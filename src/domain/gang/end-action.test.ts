import { describe, expect, it } from 'vitest';
import { actionFor, type EndAction, isStronger, REPLICA_POLICIES } from './end-action.ts';
import type { EndClass } from './pod-end.ts';

/** One column for each of {@link REPLICA_POLICIES}. */
const CELLS: readonly (readonly [EndClass, EndAction, EndAction, EndAction, EndAction])[] = [
  ['running', 'stay', 'stay', 'stay', 'stay'],
  ['finished', 'succeed', 'succeed', 'succeed', 'succeed'],
  ['interrupted', 'restart', 'restart', 'restart', 'restart'],
  ['doubtful', 'doubt', 'doubt', 'doubt', 'doubt'],
  ['retry-later', 'wait', 'wait', 'wait', 'wait'],
  ['unusable', 'fail', 'fail', 'fail', 'fail'],
  ['error-low', 'spend', 'spend', 'fail', 'fail'],
  ['error-high', 'spend', 'spend', 'fail', 'spend'],
  ['error', 'spend', 'spend', 'fail', 'spend'],
];

describe('the action for the end of a pod', () => {
  it.each(CELLS.flatMap(([end, ...actions]) => REPLICA_POLICIES.map((policy, index) => [end, policy, actions[index]] as const)))(
    'of the class %s under %s is %s',
    (end, policy, action) => {
      expect(actionFor(policy, end)).toBe(action);
    },
  );

  it('of an interrupted pod decides before the errors of its peers, under every policy', () => {
    for (const policy of REPLICA_POLICIES) {
      for (const [end] of CELLS) {
        expect(isStronger(actionFor(policy, 'interrupted'), actionFor(policy, end))).toBe(actionFor(policy, end) !== 'restart');
      }
    }
  });
});
