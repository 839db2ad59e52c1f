import { describe, expect, it } from 'vitest';
import { whyNotBuilt } from '../cluster/facility.ts';
import { API_CAUSES } from './api-causes.ts';
import { type Policy, cronJob } from './cron-run.ts';
import { indexedJob } from './indexed-runs.ts';
import { jobFor } from './interrupted-run.ts';
import { KUBELET_CAUSES } from './kubelet-causes.ts';
import { GIVEN_UP, LOSS_CAUSES } from './loss-causes.ts';
import { type CronJob, patchedExample } from './patched-example.ts';
import { rejectedJob } from './rejected-run.ts';
import { type Form, type Job, type TrainingJob, exampleJob, trainingJob } from './training-job.ts';

const reason = whyNotBuilt();
const pool = 'any';
const POD = 'spec.template.spec';
const CONTAINER = `${POD}.containers.0`;

/**
 * The fields in which each Job differs: name, nodes and folder of the volume. The finalizer keeps
 * its pods until the test has read them.
 */
const OWN = ['metadata.name', 'spec.template.metadata.finalizers', `${POD}.nodeSelector`, `${CONTAINER}.command.2`];
/** The extra fields of a mounted installation. */
const OF_FORM: Readonly<Record<Form, readonly string[]>> = {
  binary: [],
  tree: [`${CONTAINER}.command.0`, `${CONTAINER}.volumeMounts.7`, `${POD}.volumes.7`],
};
/** The extra fields that a cause needs. */
const OF_CAUSE: Readonly<Record<string, readonly string[]>> = {
  shutdown: ['spec.template.metadata.annotations'],
  'size-limit': [`${POD}.volumes.3.emptyDir.sizeLimit`],
  ttl: ['spec.ttlSecondsAfterFinished'],
  'given-up': [`${POD}.tolerations`],
  lost: [`${POD}.tolerations`],
  rejected: [`${POD}.tolerations`],
};

const CAUSES = [...API_CAUSES, ...KUBELET_CAUSES, GIVEN_UP, ...LOSS_CAUSES];
const WISHES = [
  ...CAUSES.flatMap((cause) => cause.forms.map((form) => [cause.name, form, jobFor(cause, form, pool)] as const)),
  ['rejected', 'binary', rejectedJob({ pool, manner: 'binary' })] as const,
  ['none', 'binary', { name: 'away-binary', manner: 'binary', pool } satisfies TrainingJob] as const,
];

/** The paths of all values that differ, or that only one of the two has. */
function differences(one: unknown, other: unknown, path = ''): readonly string[] {
  if (!isNested(one) || !isNested(other)) return Object.is(one, other) ? [] : [path];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap((name) => differences(one[name], other[name], path === '' ? name : `${path}.${name}`));
}

function isNested(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** A value that is added where the example has none differs as a whole. */
function withMetadata({ spec, ...example }: Pick<Job, 'spec'>): unknown {
  return { ...example, spec: { ...spec, template: { metadata: {}, ...spec.template } } };
}

describe.skipIf(reason !== null)(`a Job of these tests${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  it.each(WISHES)(
    'for the cause %s under `holdfast run` (%s) is the output of `kubectl apply -k examples/kubernetes`, except for the listed changes',
    (cause, form, wish) => {
      expect(differences(withMetadata(exampleJob()), trainingJob(wish)).toSorted()).toEqual(
        [...OWN, ...OF_FORM[form], ...(OF_CAUSE[cause] ?? [])].toSorted(),
      );
    },
  );

  it.each([
    ['Forbid', []],
    ['Replace', ['spec.concurrencyPolicy']],
  ] satisfies (readonly [Policy, readonly string[]])[])(
    'as a CronJob with %s is the published one with the patch, except for the listed changes',
    (policy, ofPolicy) => {
      const { spec, ...example } = patchedExample('cronjob/stdlib.yaml') as CronJob;
      const copied = { ...example, spec: { ...spec, jobTemplate: withMetadata(spec.jobTemplate) } };
      const own = ['spec.template.metadata.finalizers', `${CONTAINER}.command.2`].map((path) => `spec.jobTemplate.${path}`);
      expect(differences(copied, cronJob('cron', policy)).toSorted()).toEqual(
        ['metadata.name', 'spec.schedule', ...ofPolicy, ...own].toSorted(),
      );
    },
  );

  it('as an indexed Job is the published one with the patch, except for the listed changes', () => {
    const copied = withMetadata(patchedExample('indexed/stdlib.yaml') as Job);
    expect(differences(copied, indexedJob()).toSorted()).toEqual(
      ['spec.template.metadata.finalizers', `${CONTAINER}.command.2`].toSorted(),
    );
  });

  it('has the same trainer command in the bare control as in the example, with its name and its waiting place', () => {
    const [{ command }] = exampleJob().spec.template.spec.containers;
    const [{ command: bare }] = trainingJob({ name: 'a', manner: 'bare', pool }).spec.template.spec.containers;
    expect(bare).toEqual([...command.slice(command.indexOf('--') + 1), 'bare', '/runs/a']);
  });
});
