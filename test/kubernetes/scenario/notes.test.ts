import { expect, it } from 'vitest';
import type { Outcome } from './interrupted-run.ts';
import { notesTable } from './notes.ts';

const OUTCOME: Outcome = {
  phase: 'Succeeded',
  exitCode: 0,
  containerReason: 'Completed',
  podReason: null,
  disruption: 'TerminationByKubelet',
  message: '',
  firstNode: 'node-1',
  nextNode: null,
  resumedWith: null,
  job: 'Complete',
  result: null,
};

it('a run that was called complete and never finished stands out in the table', () => {
  const table = notesTable([{ cause: 'evicted', manner: 'bare', outcome: OUTCOME, isFinished: false }], {
    version: 'v1.35.8',
    runtime: 'containerd://1.6.20',
    cgroups: 1,
  });
  expect(table).toMatch(/^Kubernetes v1\.35\.8, containerd 1\.6\.20, cgroup v1:$/m);
  expect(table.split('\n').at(-1)).toBe(
    '| evicted | bare | 0 | Succeeded | Completed, DisruptionTarget/TerminationByKubelet | Complete | **never finished** |',
  );
});

it('a run that went on says with which step', () => {
  const outcome = { ...OUTCOME, phase: 'Failed', exitCode: 143, containerReason: 'Error', disruption: null, resumedWith: 111 };
  const table = notesTable([{ cause: 'deleted', manner: 'holdfast', outcome, isFinished: true }], {
    version: 'v1.35.8',
    runtime: 'containerd://1.6.20',
    cgroups: 2,
  });
  expect(table).toContain('| 143 | Failed | Error | Complete | finished, equal to its twin; went on with step 111 |');
});
