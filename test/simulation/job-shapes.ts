import type { Rng } from '../../src/core/rng.ts';
import { ANNOTATIONS } from '../../src/operator/kinds/annotations.ts';
import type { JobKind } from '../../src/operator/kinds/kind.ts';
import { PYTORCH_JOB } from '../../src/operator/kinds/pytorch.ts';
import { TF_JOB } from '../../src/operator/kinds/tensorflow.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A job to create: its kind, its annotations and its spec. */
export interface JobShape {
  readonly kind: JobKind;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Fields;
}

const SUPERVISED = ['/opt/holdfast-run', '--status=0.0.0.0:9400', '--', 'python', 'train.py'];
const METRICS = [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }];

/** A random job, of every shape that the two kinds know. */
export function randomJob(rng: Rng): JobShape {
  const isSupervised = rng.next() < 0.6;
  const kind = rng.next() < 0.6 ? PYTORCH_JOB : TF_JOB;
  const roles = rolesOf(kind, rng);
  const isElastic = kind === PYTORCH_JOB && roles[0] === 'Worker' && rng.next() < 0.6;
  const isAlone = isElastic || roles.includes('PS');
  const specs = roles.map((role) => {
    const replicas = role === 'Worker' ? rng.integer(isElastic ? 2 : 1, 3) : 1;
    // A pod that its kubelet always restarts never ends, so that such a job would train for ever.
    const policy = rng.pick(isAlone || role === 'Evaluator' ? ['OnFailure', 'ExitCode', 'Never'] : POLICIES);
    const command = isSupervised ? SUPERVISED : ['python', 'train.py'];
    const container = { name: kind.container, image: 'trainer', command };
    const template = { spec: { containers: [container], terminationGracePeriodSeconds: rng.pick([5, 30]) } };
    return [role, { replicas, restartPolicy: policy, template }] as const;
  });
  const elasticPolicy = { minReplicas: 1, maxReplicas: 4, ...(rng.next() < 0.5 ? { metrics: METRICS } : {}) };
  return {
    kind,
    annotations: annotationsFor(rng),
    spec: {
      [kind.rolesField]: Object.fromEntries(specs),
      runPolicy: runPolicy(rng),
      ...(isElastic ? { elasticPolicy } : {}),
      ...(kind === TF_JOB ? { successPolicy: rng.pick(['', 'AllWorkers']) } : {}),
      ...(kind === TF_JOB && !roles.includes('PS') && rng.next() < 0.1 ? { enableDynamicWorker: true } : {}),
    },
  };
}

const POLICIES = ['Always', 'OnFailure', 'Never', 'ExitCode'] as const;

function rolesOf(kind: JobKind, rng: Rng): readonly string[] {
  return kind === PYTORCH_JOB
    ? rng.pick([['Master'], ['Master', 'Worker'], ['Master', 'Worker'], ['Worker']])
    : rng.pick([['Chief', 'Worker'], ['Chief', 'Worker', 'Evaluator'], ['PS', 'Worker'], ['Worker']]);
}

function runPolicy(rng: Rng): Fields {
  return {
    cleanPodPolicy: rng.pick(['None', 'Running', 'All']),
    ...(rng.next() < 0.6 ? { backoffLimit: rng.integer(0, 4) } : {}),
    ...(rng.next() < 0.2 ? { ttlSecondsAfterFinished: rng.integer(0, 60) } : {}),
    ...(rng.next() < 0.1 ? { activeDeadlineSeconds: rng.integer(60, 1200) } : {}),
    ...(rng.next() < 0.15 ? { suspend: true } : {}),
  };
}

function annotationsFor(rng: Rng): Readonly<Record<string, string>> {
  const some = (share: number, name: keyof typeof ANNOTATIONS, value: () => string): Fields =>
    rng.next() < share ? { [ANNOTATIONS[name]]: value() } : {};
  return {
    ...some(0.15, 'restart', () => rng.pick(['gang', 'replica'])),
    ...some(0.1, 'running', () => 'v1'),
    ...some(0.3, 'forceLostNodes', () => 'true'),
    ...some(0.2, 'startDeadline', () => `${rng.integer(30, 300)}s`),
  } as Readonly<Record<string, string>>;
}
