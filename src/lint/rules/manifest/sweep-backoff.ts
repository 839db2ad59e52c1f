import type { WorkloadRule } from '../../engine/rule.ts';
import { mayTrain } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { get, numberAt, spanAt, textAt } from '../../manifest/yaml-node.ts';

/** In a sweep one bad trial must not end the others. */
export const sweepBackoff: WorkloadRule = {
  code: 'SWEEP_SHARES_BACKOFF',
  readsFragments: true,
  severity: 'warning',
  on: 'workload',
  title: 'Independent runs share one backoffLimit',
  why: 'In an indexed Job without backoffLimitPerIndex the failures of all indexes add up: a few bad trials end the whole sweep, and the others are deleted in the middle of their training.',
  fix: 'Set backoffLimitPerIndex (and maxFailedIndexes), and use FailIndex instead of FailJob in the podFailurePolicy.',
  bad: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  completionMode: Indexed
  completions: 16
  parallelism: 8
  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, sweep.py] }] } }
`,
  },
  good: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  completionMode: Indexed
  completions: 16
  parallelism: 8
  backoffLimitPerIndex: 2
  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, sweep.py] }] } }
`,
  },
  check(workload) {
    const { job, pod, isGang, object } = workload;
    const completions = numberAt(job, 'completions') ?? 1;
    if (
      job === null ||
      object.kind === 'JobSet' ||
      textAt(job, 'completionMode') !== 'Indexed' ||
      completions < 2 ||
      isGang ||
      !mayTrain(workload)
    )
      return [];
    // A headless service is how the pods of one run find each other.
    if (get(job, 'backoffLimitPerIndex') !== null || get(pod, 'subdomain') !== null) return [];
    const limit = textAt(job, 'backoffLimit') ?? '6, the default';
    return [
      {
        at: spanAt(job, 'completionMode'),
        message: `${nameOf(workload)}: ${completions} independent runs share backoffLimit ${limit}; a few failing ones end them all.`,
      },
    ];
  },
};
