import type { WorkloadRule } from '../../engine/rule.ts';
import { trains } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { get, headOf, items, spanAt, textAt } from '../../manifest/yaml-node.ts';

/** Nothing starts a bare pod again. */
export const barePod: WorkloadRule = {
  code: 'POD_WITHOUT_OWNER',
  severity: 'error',
  on: 'workload',
  title: 'A bare Pod trains',
  why: 'Nothing replaces a Pod that has no owner. The first eviction, preemption, drain or lost node ends the training. Its restartPolicy only restarts containers while the pod stays on its node.',
  fix: 'Make it a Job with restartPolicy: Never and a podFailurePolicy; `holdfast adopt` writes one.',
  bad: { manifest: '\nkind: Pod\nspec:\n  containers: [{ name: trainer, command: [python, train.py] }]\n' },
  good: {
    manifest:
      '\nkind: Job\nspec:\n  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, train.py] }] } }\n',
  },
  check(workload) {
    const { object } = workload;
    if (object.kind !== 'Pod' || !trains(workload) || get(object.root, 'metadata', 'ownerReferences') !== null) return [];
    return [
      {
        at: spanAt(object.root, 'kind'),
        message: `${nameOf(workload)} has no owner: nothing starts it again after an eviction, a preemption or a lost node.`,
      },
    ];
  },
};

/** The value of a variable is a text. */
export const envNotText: WorkloadRule = {
  code: 'ENV_VALUE_NOT_TEXT',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'The value of a variable is not a text',
  why: 'Kubernetes reads YAML 1.1, in which 8, true, yes, no, on and off are no texts. The API server refuses a variable with such a value, and with it the whole manifest.',
  fix: 'Put the value in quotes.',
  bad: {
    manifest:
      '\nkind: Job\nspec:\n  template: { spec: { restartPolicy: Never, containers: [{ name: t, command: [python, train.py], env: [{ name: RESUME, value: yes }] }] } }\n',
  },
  good: {
    manifest:
      '\nkind: Job\nspec:\n  template: { spec: { restartPolicy: Never, containers: [{ name: t, command: [python, train.py], env: [{ name: RESUME, value: "yes" }] }] } }\n',
  },
  check(workload) {
    return workload.containers.flatMap(({ node }) =>
      items(get(node, 'env')).flatMap((variable) => {
        const value = get(variable, 'value');
        if (
          value?.kind !== 'scalar' ||
          !value.isPlain ||
          !/^(?:y|n|yes|no|on|off|true|false|[-+]?(?:0x[\da-f]+|\d[\d_]*)(?:\.\d+)?(?:e[-+]?\d+)?)$/i.test(value.text)
        )
          return [];
        const message = `${nameOf(workload)}: the variable ${textAt(variable, 'name')} has the value ${value.text}, which YAML 1.1 does not read as a text: the API server refuses it.`;
        return [{ at: value, message, edits: [{ from: value.from, to: value.to, text: JSON.stringify(value.text) }] }];
      }),
    );
  },
};

/** Something that only shows with the kind in front of it. */
export const jobCannotShare: WorkloadRule = {
  code: 'JOB_REPLACEMENT_OVERLAPS',
  severity: 'warning',
  on: 'workload',
  title: 'Two pods of the Job may write one folder at the same time',
  why: 'With podReplacementPolicy: TerminatingOrFailed the replacement of a pod starts while the old one still ends, and perhaps still saves. Both write the same folder and mostly the same temporary names. The mixed result may even load.',
  fix: 'Set podReplacementPolicy: Failed, or leave it out beside a podFailurePolicy, which implies it.',
  bad: {
    manifest:
      '\nkind: Job\nspec:\n  podReplacementPolicy: TerminatingOrFailed\n  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, train.py] }] } }\n',
  },
  good: {
    manifest:
      '\nkind: Job\nspec:\n  podReplacementPolicy: Failed\n  template: { spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, train.py] }] } }\n',
  },
  check(workload) {
    const { job } = workload;
    const node = get(job, 'podReplacementPolicy');
    if (job === null || node === null || !trains(workload) || textAt(job, 'podReplacementPolicy') !== 'TerminatingOrFailed') return [];
    return [
      {
        at: headOf(node),
        message: `${nameOf(workload)}: the next pod may start while the one before still saves.`,
        edits: [{ from: node.from, to: node.to, text: 'Failed' }],
      },
    ];
  },
};
