import type { EndClass } from './pod-end.ts';

/** The restart policies of a replica. */
export const REPLICA_POLICIES = ['Always', 'OnFailure', 'Never', 'ExitCode'] as const;
/** One of {@link REPLICA_POLICIES}. */
export type ReplicaPolicy = (typeof REPLICA_POLICIES)[number];

/**
 * What the end of a pod does to its attempt:
 *
 * - `stay`: nothing;
 * - `succeed`: the pod counts as succeeded;
 * - `restart`: a new attempt, at once and free;
 * - `doubt`: the same, but only a few times without progress; then it is an error;
 * - `wait`: a new attempt after a back-off, free;
 * - `spend`: a new attempt after a back-off, from the budget of errors;
 * - `fail`: the job fails.
 */
export type EndAction = 'stay' | 'succeed' | 'restart' | 'doubt' | 'wait' | 'spend' | 'fail';

const SAME_FOR_ALL = {
  running: 'stay',
  finished: 'succeed',
  interrupted: 'restart',
  doubtful: 'doubt',
  'retry-later': 'wait',
  unusable: 'fail',
} as const satisfies Partial<Record<EndClass, EndAction>>;

/** The action for each policy and each end. */
const ACTIONS: Readonly<Record<ReplicaPolicy, Readonly<Record<EndClass, EndAction>>>> = {
  Always: { ...SAME_FOR_ALL, 'error-low': 'spend', 'error-high': 'spend', error: 'spend' },
  OnFailure: { ...SAME_FOR_ALL, 'error-low': 'spend', 'error-high': 'spend', error: 'spend' },
  Never: { ...SAME_FOR_ALL, 'error-low': 'fail', 'error-high': 'fail', error: 'fail' },
  ExitCode: { ...SAME_FOR_ALL, 'error-low': 'fail', 'error-high': 'spend', error: 'spend' },
};

/** The action for the end of a pod under the restart policy of its replica. */
export function actionFor(policy: ReplicaPolicy, end: EndClass): EndAction {
  return ACTIONS[policy][end];
}

/** From weak to strong. */
const STRENGTH: readonly EndAction[] = ['stay', 'succeed', 'doubt', 'spend', 'wait', 'fail', 'restart'];

/**
 * Whether one action decides before another, when several pods of an attempt ended. An interruption
 * decides before an error: the peers of an interrupted pod fail because they lose it.
 */
export function isStronger(one: EndAction, other: EndAction): boolean {
  return STRENGTH.indexOf(one) > STRENGTH.indexOf(other);
}
