import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import { eventually } from '../cluster/wait.ts';
import { runsOf } from '../scenario/example.ts';
import { hostPython, hostTrees } from '../scenario/host-trees.ts';
import { PODS } from '../scenario/objects.ts';

export const PYTORCH_JOBS = '/apis/kubeflow.org/v1/namespaces/default/pytorchjobs';
export const TRAINING_RUNS = '/apis/holdfast.dev/v1alpha1/namespaces/default/trainingruns';
/** The GPUs of a node, and of the only pod of each job. */
export const NODE_GPUS = 4;
/** A save takes longer than the grace: whatever a kill would lose, only a question can save. */
export const [STEP_SECONDS, SAVE_SECONDS, GRACE_SECONDS] = [1, 6, 3] as const;

/** A job of one pod that fills one node. */
export interface Gang {
  readonly name: string;
  readonly node: string;
  /** It saves at every so many steps. */
  readonly every: number;
}

/** Where a trainer keeps what a test reads. */
function folderOf(cluster: Cluster, { name }: Gang): string {
  return join(runsOf(cluster), `told-${name}`);
}

/** Creates the job of a gang, and waits until its pod runs. */
export async function startGang(cluster: Cluster, gang: Gang): Promise<void> {
  const told = folderOf(cluster, gang);
  rmSync(told, { recursive: true, force: true });
  mkdirSync(told);
  chmodSync(told, 0o777);
  await cluster.api.create(PYTORCH_JOBS, manifest(gang));
  await eventually(`the pods of ${gang.name}`, async () => {
    const pods = await podsOf(cluster, gang);
    return pods.length === 1 && pods.every(({ status }) => status?.phase === 'Running') ? true : null;
  });
}

export async function podsOf(cluster: Cluster, { name }: Gang): Promise<readonly KubeObject[]> {
  return (await cluster.api.list(PODS)).filter(({ metadata }) => metadata.name === `${name}-master-0`);
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

function manifest({ name, node, every }: Gang): Readonly<Record<string, unknown>> {
  const { path, volumes, mounts } = hostTrees();
  const container = {
    name: 'pytorch',
    image: BASE_IMAGE,
    imagePullPolicy: 'Never',
    command: [join(hostPython(), 'bin/python3'), join(ROOT, 'test/kubernetes/trainers/paced.py')],
    args: [String(STEP_SECONDS), String(SAVE_SECONDS), String(every), `/runs/told-${name}`],
    env: Object.entries({ PATH: path, PYTHONPATH: join(ROOT, 'python'), PYTHONDONTWRITEBYTECODE: '1' }).map(([key, value]) => ({
      name: key,
      value,
    })),
    resources: { requests: { cpu: '1m' }, limits: { 'nvidia.com/gpu': String(NODE_GPUS) } },
    volumeMounts: [{ name: 'runs', mountPath: '/runs' }, ...mounts],
  };
  const spec = {
    priorityClassName: 'train',
    nodeSelector: { 'kubernetes.io/hostname': node },
    terminationGracePeriodSeconds: GRACE_SECONDS,
    containers: [container],
    volumes: [{ name: 'runs', persistentVolumeClaim: { claimName: 'runs' } }, ...volumes],
  };
  const role = { replicas: 1, restartPolicy: 'OnFailure', template: { spec } };
  return {
    apiVersion: 'kubeflow.org/v1',
    kind: 'PyTorchJob',
    metadata: { name, annotations: { 'holdfast.dev/supervise': 'true' } },
    spec: { nprocPerNode: '1', pytorchReplicaSpecs: { Master: role } },
  };
}
