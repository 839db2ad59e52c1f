import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import { EXAMPLES } from './example.ts';
import { torchTrees } from './torch-environment.ts';

/** What a pod trains. */
interface TorchPod {
  /** The folder of an environment with torch. */
  readonly environment: string;
  /** The arguments of torchrun. */
  readonly args: readonly string[];
  /** More variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** More fields of the container. */
  readonly container?: Readonly<Record<string, unknown>>;
  /** More fields of the pod. */
  readonly pod?: Readonly<Record<string, unknown>>;
}

/** The template of a pod that starts torchrun with this machine's Python, beside the runs. */
export function torchTemplate({ environment, args, env = {}, container = {}, pod = {} }: TorchPod): Readonly<Record<string, unknown>> {
  const { path, volumes, mounts } = torchTrees(environment);
  const trainer = {
    name: 'pytorch',
    image: BASE_IMAGE,
    imagePullPolicy: 'Never',
    command: [join(environment, 'bin/python3'), '-m', 'torch.distributed.run'],
    args,
    env: Object.entries({ PATH: path, OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '', PYTHONDONTWRITEBYTECODE: '1', ...env }).map(
      ([name, value]) => ({ name, value }),
    ),
    volumeMounts: [{ name: 'runs', mountPath: '/runs' }, { name: 'scratch', mountPath: '/scratch' }, ...mounts],
    ...container,
  };
  const spec = {
    terminationGracePeriodSeconds: 60,
    containers: [trainer],
    volumes: [
      { name: 'runs', persistentVolumeClaim: { claimName: 'runs' } },
      { name: 'scratch', emptyDir: { sizeLimit: '32Mi' } },
      ...volumes,
    ],
    ...pod,
  };
  return { spec };
}

/** A gang of two ranks. */
export interface TorchGang {
  readonly job: string;
  readonly environment: string;
  readonly steps: string;
  readonly resources: Readonly<Record<string, unknown>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Instead of the one that asks for supervision. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** More variables of the trainer. */
  readonly env?: Readonly<Record<string, string>>;
  readonly runPolicy?: Readonly<Record<string, unknown>>;
}

/** A PyTorchJob to create. */
export interface GangManifest {
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

const SUPERVISED = { 'holdfast.dev/supervise': 'true' };

/** The manifest as a user has it for v1: no change of the image. */
export function torchGang({
  job,
  environment,
  steps,
  resources,
  labels = {},
  annotations = SUPERVISED,
  env = {},
  runPolicy = {},
}: TorchGang): GangManifest {
  const args = [join(ROOT, 'test/kubernetes/trainers/gang.py'), join(EXAMPLES, 'torchrun/train.py'), `/runs/${job}`, steps];
  const template = torchTemplate({ environment, args, env, container: { resources } });
  const role = { replicas: 1, restartPolicy: 'OnFailure', template };
  return {
    apiVersion: 'kubeflow.org/v1',
    kind: 'PyTorchJob',
    metadata: { name: job, labels, annotations },
    spec: { nprocPerNode: '1', runPolicy, pytorchReplicaSpecs: { Master: role, Worker: role } },
  };
}
