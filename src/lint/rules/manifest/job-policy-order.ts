import type { WorkloadRule } from '../../engine/rule.ts';
import { ignoresDisruptions, policyRules } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { headOf, textAt } from '../../manifest/yaml-node.ts';

/** The first rule that matches wins, and a disrupted pod has an exit code too. */
export const jobPolicyOrder: WorkloadRule = {
  code: 'JOB_POLICY_ORDER',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'A rule about exit codes comes before the one that ignores disruptions',
  why: 'The first rule of a podFailurePolicy that matches decides. A pod that was evicted has the condition `DisruptionTarget` and an exit code: 137, or the one of its trainer after SIGTERM. If the rule about exit codes comes first, an interruption fails the Job or counts as a failure.',
  fix: 'Move the rule that ignores DisruptionTarget to the top.',
  bad: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  podFailurePolicy:
    rules:
      - action: FailJob
        onExitCodes: { operator: NotIn, values: [0, 42] }
      - action: Ignore
        onPodConditions: [{ type: DisruptionTarget }]
  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, train.py] }] } }
`,
  },
  good: {
    manifest: `
apiVersion: batch/v1
kind: Job
spec:
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions: [{ type: DisruptionTarget }]
      - action: FailJob
        onExitCodes: { operator: NotIn, values: [0, 42] }
  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, train.py] }] } }
`,
  },
  check(workload) {
    const rules = policyRules(workload.job);
    const ignore = rules.findIndex(ignoresDisruptions);
    const first = rules.findIndex((rule) => textAt(rule, 'action') !== 'Ignore');
    const [early, late] = [rules[first], rules[ignore]];
    if (early === undefined || late === undefined || first > ignore) return [];
    const message = `${nameOf(workload)}: the rule \`${textAt(early, 'action')}\` comes before the one that ignores disruptions. An evicted pod with such an exit code counts as a failure of the Job.`;
    const { source } = workload.object;
    const edits = swap(source, early, late);
    return [{ at: headOf(late), message, edits }];
  },
};

/** Items of one list change places; nothing but their own text moves. */
function swap(source: string, a: { from: number; to: number }, b: { from: number; to: number }) {
  const [first, second] = [trimmed(source, a), trimmed(source, b)];
  return [
    { ...first, text: source.slice(second.from, second.to) },
    { ...second, text: source.slice(first.from, first.to) },
  ];
}

function trimmed(source: string, { from, to }: { from: number; to: number }): { from: number; to: number } {
  return { from, to: from + source.slice(from, to).trimEnd().length };
}
