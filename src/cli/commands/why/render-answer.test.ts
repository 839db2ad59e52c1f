import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { disruption, ended, objects, pod } from '../../../../test/support/cluster-objects.ts';
import { ClusterState } from '../../../kube/objects/cluster-state.ts';
import { answersOf, NO_LEDGER } from '../../../why/subjects.ts';
import { summaryOf } from '../../../why/summary.ts';
import { createStyle } from '../../output/style.ts';
import { displayWidth } from '../../output/width.ts';
import { renderAnswer, renderOthers } from './render-answer.ts';
import { renderSummary } from './render-summary.ts';

const style = createStyle({ stream: { isTTY: true }, env: {}, noColor: false });
const PODS = Array.from({ length: 20 }, (_, index) => {
  const name = `train-${index}-of-a-sweep-whose-name-is-rather-long`;
  const conditions = [disruption('PreemptionByScheduler', 'default-scheduler: preempting to accommodate a higher priority pod')];
  return pod(
    { phase: 'Failed', containerStatuses: [ended(143)], conditions },
    { metadata: { name, namespace: 'research-team', uid: name } },
  );
});
const STATE = new ClusterState(objects(...PODS));
const ANSWERS = answersOf(STATE.pods, STATE, { ledger: NO_LEDGER, attempts: [] });

describe.each([80, 110])('the output of why in %i columns', (columns) => {
  it('fits, and never truncates the cause of another end', () => {
    const [first, ...others] = ANSWERS;
    if (first === undefined) throw new Error('there is no answer');
    const rest = renderOthers(others, { style, columns }).map(stripVTControlCharacters);
    const lines = [...renderAnswer(first, { style, columns }).map(stripVTControlCharacters), ...rest];
    expect(lines.filter((line) => displayWidth(line) > columns)).toEqual([]);
    expect(rest.filter((line) => line.includes('SCHEDULER_PREEMPTION'))).toHaveLength(12);
  });

  it('fits in a summary of a period', () => {
    const found = {
      answers: ANSWERS,
      problems: [],
      about: 'namespace research-team of context prod',
      since: 86_400_000,
      hasLedger: false,
      runs: 0,
    };
    const lines = renderSummary(summaryOf(ANSWERS), found, { style, columns, nowMs: Date.UTC(2026, 10, 18, 12) });
    expect(lines.map(stripVTControlCharacters).filter((line) => displayWidth(line) > columns)).toEqual([]);
  });
});
