import { timestamp } from '../../kube/api/timestamp.ts';
import { describe, expect, it } from 'vitest';
import { type ConditionChange, type ConditionType, jobStatusOf, type JobStatus, setCondition } from './job-status.ts';

const EMPTY: JobStatus = { conditions: [], replicaStatuses: {} };
const change = (type: ConditionType, isTrue = true): ConditionChange => ({ type, isTrue, reason: type, message: `${type}.` });

/**
 * The conditions after these changes, one second after the other: `Running`, or `!Running` where
 * false.
 */
function after(...changes: readonly ConditionChange[]): readonly string[] {
  const status = changes.reduce((before, each, index) => setCondition(before, each, index * 1000), EMPTY);
  return status.conditions.map(({ type, status: value }) => (value === 'True' ? type : `!${type}`));
}

describe('the conditions of a job', () => {
  it.each<[string, readonly ConditionChange[], readonly string[]]>([
    ['keep the order in which they came', [change('Created'), change('Running')], ['Created', 'Running']],
    ['replace Running by Restarting', [change('Created'), change('Running'), change('Restarting')], ['Created', 'Restarting']],
    ['replace Restarting by Running', [change('Restarting'), change('Created'), change('Running')], ['Created', 'Running']],
    ['keep Running, false, after success', [change('Running'), change('Succeeded')], ['!Running', 'Succeeded']],
    ['keep Running, false, after a failure', [change('Running'), change('Failed')], ['!Running', 'Failed']],
    ['change no more after a failure', [change('Failed'), change('Running'), change('Suspended')], ['Failed']],
    [
      'move a resumed suspension behind what came before it',
      [change('Created'), change('Suspended'), change('Running'), change('Suspended', false)],
      ['Created', 'Running', '!Suspended'],
    ],
    ['stay as they are when only the message differs', [change('Running'), change('Created'), change('Running')], ['Running', 'Created']],
  ])('%s', (_, changes, expected) => {
    expect(after(...changes)).toEqual(expected);
  });

  it('keep the time of the last transition when only the reason changes', () => {
    const first = setCondition(EMPTY, change('Running'), 0);
    const second = setCondition(first, { ...change('Running'), reason: 'Again' }, 5000);
    expect(second.conditions[0]).toMatchObject({ lastTransitionTime: timestamp(0), lastUpdateTime: timestamp(5000), reason: 'Again' });
  });

  it('are read from an object as they were written', () => {
    const status = { ...setCondition(EMPTY, change('Created'), 1000), startTime: timestamp(0), replicaStatuses: { Worker: { active: 2 } } };
    expect(jobStatusOf({ status: JSON.parse(JSON.stringify(status)) })).toEqual(status);
    expect(jobStatusOf({ status: { conditions: 'x', replicaStatuses: 7 } })).toEqual(EMPTY);
  });
});
