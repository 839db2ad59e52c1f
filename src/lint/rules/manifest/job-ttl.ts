import type { WorkloadRule } from '../../engine/rule.ts';
import { insertBefore, replaceScalar } from '../../manifest/edit.ts';
import { trains } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { entryOf, get, number, spanAt } from '../../manifest/yaml-node.ts';

const KEEP = '604800';

/** A TTL of 0 removes the Job with the pods that show what happened. */
export const jobTtlZero: WorkloadRule = {
  code: 'JOB_TTL_TOO_SHORT',
  readsFragments: true,
  severity: 'warning',
  on: 'workload',
  title: 'The Job is deleted as soon as it ends',
  why: '`ttlSecondsAfterFinished` deletes the Job with its pods. With 0, or a few minutes, exit codes and conditions are gone before you can look at them. That also hides a Job that is Complete although its pod was evicted.',
  fix: 'Keep finished Jobs for some days.',
  bad: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  ttlSecondsAfterFinished: 0
  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, train.py] }] } }
`,
  },
  good: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  ttlSecondsAfterFinished: 604800
  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, train.py] }] } }
`,
  },
  check(workload) {
    const { job } = workload;
    const node = get(job, 'ttlSecondsAfterFinished');
    const seconds = number(node);
    if (job === null || node === null || seconds === null || seconds >= 3600 || !trains(workload)) return [];
    const message = `${nameOf(workload)} is deleted ${seconds} s after its end, with the pods that show how it ended.`;
    return [{ at: spanAt(job, 'ttlSecondsAfterFinished'), message, edits: [replaceScalar(node, KEEP)] }];
  },
};

/** Without a TTL finished Jobs stay for ever. */
export const jobNoTtl: WorkloadRule = {
  code: 'JOB_NO_TTL',
  severity: 'info',
  on: 'workload',
  title: 'Finished Jobs are never deleted',
  why: 'Without ttlSecondsAfterFinished finished Jobs and their pods stay until you delete them. A busy cluster collects thousands, and the pod garbage collector then removes evicted pods first, although you need their status most. The history limits of a CronJob bound its Jobs.',
  fix: 'Set ttlSecondsAfterFinished to some days.',
  bad: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, train.py] }] } }
`,
  },
  good: { manifest: jobTtlZero.good.manifest ?? '' },
  check(workload) {
    const { job, cron, object } = workload;
    if (job === null || cron !== null || object.kind !== 'Job' || get(job, 'ttlSecondsAfterFinished') !== null || !trains(workload))
      return [];
    const before = entryOf(job, 'template')?.key;
    const entry = `ttlSecondsAfterFinished: ${KEEP}`;
    const edits = before === undefined ? [] : insertBefore(job, before, { block: [[0, entry]], flow: entry }, object.source);
    return [{ at: spanAt(object.root, 'spec'), message: `${nameOf(workload)} stays in the cluster for ever when it has finished.`, edits }];
  },
};
