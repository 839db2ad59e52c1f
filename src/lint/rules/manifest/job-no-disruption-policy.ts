import type { WorkloadRule } from '../../engine/rule.ts';
import { ignoresDisruptions, isSupervised, policyRules, trains } from '../../manifest/facts.ts';
import { insertBefore } from '../../manifest/edit.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { entryOf, get, spanAt, textAt } from '../../manifest/yaml-node.ts';
import type { BlockLine } from '../../manifest/edit.ts';

const DISRUPTED: readonly BlockLine[] = [
  [1, '- action: Ignore'],
  [2, 'onPodConditions:'],
  [3, '- type: DisruptionTarget'],
];

const INTERRUPTED: readonly BlockLine[] = [
  [1, '- action: Ignore'],
  [2, 'onExitCodes:'],
  [3, 'operator: In'],
  [3, 'values: [5, 143]'],
  [1, '- action: FailJob'],
  [2, 'onExitCodes:'],
  [3, 'operator: In'],
  [3, 'values: [64, 65, 126, 127]'],
];

const FLOW = '{ action: Ignore, onPodConditions: [{ type: DisruptionTarget }] }';

/** Without a rule for disruptions they count against backoffLimit. */
export const jobNoDisruptionPolicy: WorkloadRule = {
  code: 'JOB_NO_DISRUPTION_POLICY',
  severity: 'error',
  on: 'workload',
  title: 'Interruptions count as failures of the Job',
  why: 'Without a rule that ignores the condition `DisruptionTarget`, each eviction, preemption, drain and Spot reclaim counts against `backoffLimit`, as soon as the pod has a deletion timestamp. The Job is Failed after a few interruptions, although the trainer made no error. Without any podFailurePolicy the replacement may also start while the old pod still saves, so that two pods write one folder.',
  fix: 'Add a podFailurePolicy whose first rule ignores the condition DisruptionTarget.',
  bad: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  backoffLimit: 2
  template:
    spec:
      restartPolicy: Never
      containers:
        - { name: trainer, command: [python, train.py] }
`,
  },
  good: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  backoffLimit: 2
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
  template:
    spec:
      restartPolicy: Never
      containers:
        - { name: trainer, command: [python, train.py] }
`,
  },
  check(workload) {
    const { job, pod, object } = workload;
    if (job === null || object.kind === 'JobSet' || !trains(workload)) return [];
    if (policyRules(job).some(ignoresDisruptions)) return [];
    // The other policies are refused together with a podFailurePolicy, which is a finding of its
    // own.
    if (textAt(pod, 'restartPolicy') !== 'Never') return [];
    const limit = textAt(job, 'backoffLimit') ?? '6, the default,';
    const message = `${nameOf(workload)} counts each eviction, preemption and drain as a failure: backoffLimit ${limit} ends it after a few interruptions.`;
    const at = spanAt(job, get(job, 'podFailurePolicy') === null ? 'backoffLimit' : 'podFailurePolicy');
    const before = entryOf(job, 'template')?.key;
    if (before === undefined || get(job, 'podFailurePolicy') !== null) return [{ at, message }];
    const block: BlockLine[] = [
      [0, 'podFailurePolicy:'],
      [1, 'rules:'],
      ...[...DISRUPTED, ...(isSupervised(workload) ? INTERRUPTED : [])].map(([depth, text]): BlockLine => [depth + 1, text]),
    ];
    return [{ at, message, edits: insertBefore(job, before, { block, flow: `podFailurePolicy: { rules: [${FLOW}] }` }, object.source) }];
  },
};
