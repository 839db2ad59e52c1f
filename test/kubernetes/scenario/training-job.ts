import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { LAUNCHER, ROOT } from '../../support/run-process.ts';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import { hostTrees } from './host-trees.ts';

/** `bare` traps SIGTERM, saves and exits with 0, as people write it; `holdfast` is the same trainer under `holdfast run`. */
export type Manner = 'bare' | 'holdfast';

/** Keeps a pod that has ended until the test has looked at it. */
export const FINALIZER = 'holdfast.test/looked-at';
export const GPU = 'nvidia.com/gpu';
/** The label of the nodes that a manner has for itself. */
export const POOL = 'holdfast.test/pool';
export const TRAINER = join(ROOT, 'test/kubernetes/trainers/train.py');

const GRACE_SECONDS = 60;
/** Of a supervisor, a trainer and what they read: enough for both, and soon eaten by one that eats. */
const MEMORY_MIB = 512;
/** More than a run writes into its own volumes, and soon exceeded by one that fills. */
const SCRATCH_MIB = 32;

/** What the example that users copy sets. */
function recommendedPolicy(): unknown {
  const job = parse(readFileSync(join(ROOT, 'examples/kubernetes/job/stdlib.yaml'), 'utf8')) as { spec: { podFailurePolicy: unknown } };
  return job.spec.podFailurePolicy;
}

interface TrainingJob {
  readonly name: string;
  readonly manner: Manner;
  /** The folder on the machine that outlives pods. */
  readonly shared: string;
}

/** The same Job for both manners: only the command differs. It wants the one GPU of a node, so that one runs on a node at a time. */
export function trainingJob({ name, manner, shared }: TrainingJob): unknown {
  const trees = hostTrees();
  const supervised = [LAUNCHER, 'run', '--dir=/shared/run', '--every=50steps', `--grace=${GRACE_SECONDS}s`, '--'];
  const command = ['python3', TRAINER, manner === 'bare' ? 'bare' : 'sdk', '/shared', '/scratch'];
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      backoffLimit: 3,
      podFailurePolicy: recommendedPolicy(),
      template: {
        metadata: { finalizers: [FINALIZER] },
        spec: {
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: GRACE_SECONDS,
          automountServiceAccountToken: false,
          nodeSelector: { [POOL]: manner },
          containers: [
            {
              name: 'trainer',
              image: BASE_IMAGE,
              imagePullPolicy: 'Never',
              command: manner === 'bare' ? command : [...supervised, ...command],
              env: [
                { name: 'PATH', value: trees.path },
                { name: 'PYTHONDONTWRITEBYTECODE', value: '1' },
              ],
              resources: { limits: { memory: `${MEMORY_MIB}Mi`, [GPU]: '1' }, requests: { cpu: '10m', memory: '64Mi' } },
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
