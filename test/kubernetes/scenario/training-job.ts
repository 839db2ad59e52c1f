import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { LAUNCHER, ROOT } from '../../support/run-process.ts';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import { hostTrees } from './host-trees.ts';

/**
 * `bare` traps SIGTERM, saves and exits with 0, as people write it; `holdfast` is the same trainer under `holdfast run`; `stubborn` stays until it is
 * killed, and measures how long that takes.
 */
export type Manner = 'bare' | 'holdfast' | 'stubborn';

/** Keeps a pod that has ended until the test has looked at it. */
export const FINALIZER = 'holdfast.test/looked-at';
export const GPU = 'nvidia.com/gpu';
/** The label of the nodes that some runs have for themselves. */
export const POOL = 'holdfast.test/pool';
export const TRAINER = join(ROOT, 'test/kubernetes/trainers/train.py');

const GRACE_SECONDS = 60;
/** Of a stubborn one: it is waited for. */
export const STUBBORN_GRACE_SECONDS = 12;
/** Of a supervisor, a trainer and what they read: enough for both, and soon eaten by one that eats. */
const MEMORY_MIB = 512;
/** More than a run writes into its own volumes, and soon exceeded by one that fills. */
const SCRATCH_MIB = 32;
/** Likewise into its container's own layer; with what may be in its volumes. */
const EPHEMERAL_MIB = 96;

/** What the example that users copy sets. */
function recommendedPolicy(): unknown {
  const job = parse(readFileSync(join(ROOT, 'examples/kubernetes/job/stdlib.yaml'), 'utf8')) as { spec: { podFailurePolicy: unknown } };
  return job.spec.podFailurePolicy;
}

export interface TrainingJob {
  readonly name: string;
  readonly manner: Manner;
  /** Whose nodes it may run on. */
  readonly pool: string;
  /** More fields of the Job, and of its pods. */
  readonly jobSpec?: Readonly<Record<string, unknown>> | undefined;
  readonly podSpec?: Readonly<Record<string, unknown>> | undefined;
  /** The folder on the machine that outlives pods. */
  readonly shared: string;
}

/** The same Job for all manners: only the command and the grace differ. It wants the one GPU of a node, so that one runs on a node at a time. */
export function trainingJob({ name, manner, pool, jobSpec, podSpec, shared }: TrainingJob): unknown {
  const trees = hostTrees();
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      backoffLimit: 3,
      podFailurePolicy: recommendedPolicy(),
      ...jobSpec,
      template: {
        metadata: { finalizers: [FINALIZER] },
        spec: {
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: manner === 'stubborn' ? STUBBORN_GRACE_SECONDS : GRACE_SECONDS,
          automountServiceAccountToken: false,
          nodeSelector: { [POOL]: pool },
          ...podSpec,
          containers: [
            {
              name: 'trainer',
              image: BASE_IMAGE,
              imagePullPolicy: 'Never',
              command: commandOf(manner),
              env: [
                { name: 'PATH', value: trees.path },
                { name: 'PYTHONDONTWRITEBYTECODE', value: '1' },
              ],
              resources: {
                limits: { memory: `${MEMORY_MIB}Mi`, 'ephemeral-storage': `${EPHEMERAL_MIB}Mi`, [GPU]: '1' },
                requests: { cpu: '10m', memory: '64Mi' },
              },
              volumeMounts: [...trees.mounts, { name: 'shared', mountPath: '/shared' }, { name: 'scratch', mountPath: '/scratch' }],
            },
          ],
          volumes: [
            ...trees.volumes,
            { name: 'shared', hostPath: { path: shared } },
            { name: 'scratch', emptyDir: { sizeLimit: `${SCRATCH_MIB}Mi` } },
          ],
        },
      },
    },
  };
}

function commandOf(manner: Manner): readonly string[] {
  const trainer = (how: string): string[] => ['python3', TRAINER, how, '/shared', '/scratch'];
  if (manner !== 'holdfast') return trainer(manner);
  return [LAUNCHER, 'run', '--dir=/shared/run', '--every=50steps', `--grace=${GRACE_SECONDS}s`, '--', ...trainer('sdk')];
}
