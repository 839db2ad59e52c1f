import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import { eventually } from '../cluster/wait.ts';
import { runsOf } from '../scenario/example.ts';
import { PODS } from '../scenario/objects.ts';
import { torchTrees } from '../scenario/torch-environment.ts';

export const PYTORCH_JOBS = '/apis/kubeflow.org/v1/namespaces/default/pytorchjobs';
export const TRAINING_RUNS = '/apis/holdfast.dev/v1alpha1/namespaces/default/trainingruns';
/** The GPUs of a node, and of each pod of a gang. */
export const NODE_GPUS = 4;
export const [STEP_SECONDS, GRACE_SECONDS] = [1, 3] as const;

/** A job whose pods fill one node each. */
export interface Gang {
  readonly name: string;
  /** The node of its master, and that of its worker if it has one. */
  readonly nodes: readonly [string] | readonly [string, string];
  readonly saveSeconds: number;
  /** It saves at every so many steps. */
  readonly every: number;
  /** When the pod comes, a kill would lose at least so many steps of it. */
  readonly leastUnsaved: number;
}

/** Where a trainer keeps what a test reads. */
function folderOf(cluster: Cluster, { name }: Gang): string {
  return join(runsOf(cluster), `told-${name}`);
}

/** Creates the job of a gang, and waits until its pods run. */
export async function startGang(cluster: Cluster, gang: Gang, environment: string): Promise<void> {
  const told = folderOf(cluster, gang);
  rmSync(told, { recursive: true, force: true });
  mkdirSync(told);
  chmodSync(told, 0o777);
  await cluster.api.create(PYTORCH_JOBS, manifest(gang, environment));
  await eventually(`the pods of ${gang.name}`, async () => {
    const pods = await podsOf(cluster, gang);
    return pods.length === gang.nodes.length && pods.every(({ status }) => status?.phase === 'Running') ? true : null;
  });
}

export function podsOf(cluster: Cluster, { name }: Gang): Promise<readonly KubeObject[]> {
  return cluster.api.list(`${PODS}?labelSelector=training.kubeflow.org/job-name=${name}`);
}

/** The newest step of a gang; -1 before its first. */
export function stepOf(cluster: Cluster, gang: Gang): number {
  const path = join(folderOf(cluster, gang), 'step');
  return existsSync(path) ? Number(readFileSync(path, 'utf8')) : -1;
}

/** The first step of every start. */
export function startsOf(cluster: Cluster, gang: Gang): readonly number[] {
  const path = join(folderOf(cluster, gang), 'starts');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').map(Number) : [];
}

/** The steps that a kill would lose now; null before the first checkpoint is sealed. */
export function unsavedOf(cluster: Cluster, gang: Gang): number | null {
  const folder = join(runsOf(cluster), 'holdfast', gang.name);
  const sealed = (existsSync(folder) ? readdirSync(folder) : []).flatMap((each) => {
    const [, step] = /^step-(\d+)$/.exec(each) ?? [];
    return step === undefined ? [] : [Number(step)];
  });
  return sealed.length === 0 ? null : stepOf(cluster, gang) - Math.max(...sealed);
}

function manifest({ name, nodes: [first, second], saveSeconds, every }: Gang, environment: string): Readonly<Record<string, unknown>> {
  const { path, volumes, mounts } = torchTrees(environment);
  const container = {
    name: 'pytorch',
    image: BASE_IMAGE,
    imagePullPolicy: 'Never',
    command: [join(environment, 'bin/python3'), join(ROOT, 'test/kubernetes/trainers/paced.py')],
    args: [String(STEP_SECONDS), String(saveSeconds), String(every), `/runs/told-${name}`],
    env: Object.entries({ PATH: path, OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '', PYTHONDONTWRITEBYTECODE: '1' }).map(
      ([key, value]) => ({ name: key, value }),
    ),
    resources: { requests: { cpu: '1m' }, limits: { 'nvidia.com/gpu': String(NODE_GPUS) } },
    volumeMounts: [{ name: 'runs', mountPath: '/runs' }, ...mounts],
  };
  const roleOn = (node: string): object => ({
    replicas: 1,
    restartPolicy: 'OnFailure',
    template: {
      spec: {
        priorityClassName: 'train',
        nodeSelector: { 'kubernetes.io/hostname': node },
        terminationGracePeriodSeconds: GRACE_SECONDS,
        containers: [container],
        volumes: [{ name: 'runs', persistentVolumeClaim: { claimName: 'runs' } }, ...volumes],
      },
    },
  });
  return {
    apiVersion: 'kubeflow.org/v1',
    kind: 'PyTorchJob',
    metadata: { name, annotations: { 'holdfast.dev/supervise': 'true' } },
    spec: {
      nprocPerNode: '1',
      pytorchReplicaSpecs: { Master: roleOn(first), ...(second === undefined ? {} : { Worker: roleOn(second) }) },
    },
  };
}
