import type { WorkloadRule } from '../../engine/rule.ts';
import { insertBefore, replaceScalar } from '../../manifest/edit.ts';
import { trains } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { entryOf, get, spanAt, textAt } from '../../manifest/yaml-node.ts';

/** Jobs know Never and OnFailure. The default is Always, which is refused. */
export const jobRestartAlways: WorkloadRule = {
  code: 'JOB_RESTART_ALWAYS',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'A Job cannot have the restart policy Always',
  why: 'The API server refuses a Job whose pods have `restartPolicy: Always`, which is also the default of a pod. Nothing is created, and nothing trains.',
  fix: 'Set restartPolicy: Never, so that a podFailurePolicy can distinguish interruptions from errors.',
  bad: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      restartPolicy: Always
      containers: [{ name: trainer, command: [python, train.py] }]
`,
  },
  good: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{ name: trainer, command: [python, train.py] }]
`,
  },
  check(workload) {
    const { job, pod, object } = workload;
    const node = get(pod, 'restartPolicy');
    const policy = textAt(pod, 'restartPolicy') ?? 'Always';
    if (job === null || policy !== 'Always' || (node === null && object.isFragment)) return [];
    const message = `${nameOf(workload)} has ${node === null ? 'no restartPolicy, which means Always' : 'restartPolicy: Always'}: the API server refuses the Job.`;
    const before = entryOf(pod, 'containers')?.key;
    const edits =
      node !== null
        ? [replaceScalar(node, 'Never')]
        : before === undefined
          ? []
          : insertBefore(pod, before, { block: [[0, 'restartPolicy: Never']], flow: 'restartPolicy: Never' }, object.source);
    return [{ at: spanAt(pod, 'restartPolicy'), message, edits }];
  },
};

/** With OnFailure no rule can tell an interruption from an error. */
export const jobRestartOnFailure: WorkloadRule = {
  code: 'JOB_RESTART_ON_FAILURE',
  readsFragments: true,
  severity: 'warning',
  on: 'workload',
  title: 'The restart policy OnFailure excludes a podFailurePolicy',
  why: 'A podFailurePolicy is allowed with `restartPolicy: Never` only. With OnFailure the Job cannot distinguish interruptions from errors. It fails as soon as the restarts of its containers add up to backoffLimit, and keeps only the log of the last attempt.',
  fix: 'Set restartPolicy: Never, and add a podFailurePolicy that ignores disruptions.',
  bad: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      restartPolicy: OnFailure
      containers: [{ name: trainer, command: [python, train.py] }]
`,
  },
  good: { manifest: jobRestartAlways.good.manifest ?? '' },
  check(workload) {
    const { job, pod } = workload;
    const node = get(pod, 'restartPolicy');
    if (job === null || node === null || textAt(pod, 'restartPolicy') !== 'OnFailure') return [];
    const hasPolicy = get(job, 'podFailurePolicy') !== null;
    if (!hasPolicy && !trains(workload)) return [];
    const message = hasPolicy
      ? `${nameOf(workload)} has a podFailurePolicy with restartPolicy: OnFailure: the API server refuses that.`
      : `${nameOf(workload)} restarts in place. An interruption counts as an error.`;
    return [{ at: spanAt(pod, 'restartPolicy'), message, edits: [replaceScalar(node, 'Never')] }];
  },
};
