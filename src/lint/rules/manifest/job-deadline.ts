import type { WorkloadRule } from '../../engine/rule.ts';
import { trains } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { number, get, spanAt, numberAt } from '../../manifest/yaml-node.ts';
import { formatDuration } from '../../../core/duration.ts';

/** From here on a deadline is a net under everything, not a length of training. */
const A_WEEK = 7 * 86_400;

/** The deadline of a Job runs on while it waits for a node. */
export const jobDeadline: WorkloadRule = {
  code: 'JOB_DEADLINE_COUNTS_WAITING',
  readsFragments: true,
  severity: 'warning',
  on: 'workload',
  title: 'activeDeadlineSeconds includes waiting and repeated work',
  why: 'The deadline runs from the first start of the Job. It includes pods that wait for a node, back-off, and every attempt. A deadline that fits one undisturbed training ends an interrupted one: all pods are deleted, and the Job is Failed with DeadlineExceeded.',
  fix: 'Remove it, or set it to several times the training, a week or more. Limit the training itself by its number of steps.',
  bad: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  activeDeadlineSeconds: 28800
  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, train.py] }] } }
`,
  },
  good: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  activeDeadlineSeconds: 1209600
  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, train.py] }] } }
`,
  },
  check(workload) {
    const { job, replica, object } = workload;
    const holder = job ?? (replica === null ? null : get(object.root, 'spec', 'runPolicy'));
    const seconds = number(get(holder, 'activeDeadlineSeconds'));
    if (holder === null || seconds === null || seconds >= A_WEEK || !trains(workload) || numberAt(job, 'backoffLimit') === 0) return [];
    // Of a job with several replicas one finding is enough.
    if (replica !== null && workload.role !== 'Master' && get(object.root, 'spec', 'pytorchReplicaSpecs', 'Master') !== null) return [];
    const message = `${nameOf(workload)} ends ${formatDuration(seconds * 1000)} after its first start, including the time that it waits for a node or repeats lost work.`;
    return [{ at: spanAt(holder, 'activeDeadlineSeconds'), message }];
  },
};
