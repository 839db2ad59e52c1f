import { startV1 } from '../../../test/kubernetes/beside/v1-process.ts';
import { runOperator } from '../../../test/kubernetes/scenario/operator-process.ts';
import { eventually } from '../../../test/kubernetes/cluster/wait.ts';
import { applyJobSetKind, jobSetOf, startJobSet } from './jobset.ts';
import type { Blow } from './kubelets-process.ts';
import type { RestartCluster } from './restart-cluster.ts';

/** How many requests a client may send; null: as many as the program does by default. */
export type Limits = { readonly qps: number; readonly burst: number } | null;

/** Something that recreates all pods of a job, and its job. */
export interface Contender {
  readonly name: string;
  readonly namespace: string;
  /** The job exists, and its program runs when this is called. */
  createJob(): Promise<void>;
  start(limits: Limits): Promise<AsyncDisposable>;
  /** After which all pods are created anew. */
  readonly blow: Blow;
}

/** The name of every job with a contender of its own. */
const JOB = 'gang';
const INIT_IMAGE = 'registry.example.com/wait:1';
const CONTAINER = { name: 'pytorch', image: 'registry.example.com/trainer:1', command: ['python', 'train.py'] };
/** The pods have their node from the first moment, so that no scheduler sets the pace. */
const POD = { nodeName: 'played', containers: [CONTAINER] };

/** A PyTorchJob of a master and workers. */
export function gangOf(name: string, pods: number): object {
  const role = (replicas: number): object => ({ replicas, restartPolicy: 'OnFailure', template: { spec: POD } });
  const roles = { Master: role(1), ...(pods > 1 ? { Worker: role(pods - 1) } : {}) };
  return { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', metadata: { name }, spec: { pytorchReplicaSpecs: roles } };
}

/** The path of the PyTorchJobs of a namespace. */
export function gangsIn(namespace: string): string {
  return `/apis/kubeflow.org/v1/namespaces/${namespace}/pytorchjobs`;
}

/** The options of the operator, beside the namespace that it watches. */
export function operatorOptions(limits: Limits): readonly string[] {
  const own = limits === null ? [] : [`--qps=${limits.qps}`, `--burst=${limits.burst}`];
  return [`--pytorch-init-container-image=${INIT_IMAGE}`, ...own];
}

/** This operator, as the executable of its image. */
export function holdfast({ cluster }: RestartCluster, binary: string, pods: number): Contender {
  const namespace = 'holdfast';
  return {
    name: 'holdfast',
    namespace,
    createJob: async () => void (await cluster.api.create(gangsIn(namespace), gangOf(JOB, pods))),
    async start(limits) {
      const operator = runOperator(cluster, [`--watch-namespace=${namespace}`, ...operatorOptions(limits)], binary);
      await eventually('the operator to work', () => (operator.said().includes('up to date') ? true : null));
      return operator;
    },
    blow: { kind: 'delete', pods: [`${JOB}-worker-0`] },
  };
}

/** The Training Operator v1, which starts all pods of a job again only after a suspension. */
export function v1({ cluster }: RestartCluster, folder: string, pods: number): Contender {
  const namespace = 'v1';
  return {
    name: 'v1, suspend and resume',
    namespace,
    createJob: async () => void (await cluster.api.create(gangsIn(namespace), gangOf(JOB, pods))),
    start: (limits) =>
      startV1(cluster, folder, {
        namespace,
        initImage: INIT_IMAGE,
        more: limits === null ? [] : [`--kube-api-qps=${limits.qps}`, `--kube-api-burst=${limits.burst}`],
      }),
    blow: { kind: 'suspend', job: JOB },
  };
}

/** JobSet; the Job controller of Kubernetes and its garbage collector do most of the work. */
export async function jobSet({ cluster }: RestartCluster, folder: string, pods: number): Promise<Contender> {
  const namespace = 'jobset';
  await applyJobSetKind(cluster, folder);
  return {
    name: 'JobSet',
    namespace,
    async createJob() {
      await cluster.api.create(`/apis/jobset.x-k8s.io/v1alpha2/namespaces/${namespace}/jobsets`, jobSetOf(JOB, pods, POD));
    },
    start: (limits) =>
      startJobSet(cluster, folder, limits === null ? [] : [`--kube-api-qps=${limits.qps}`, `--kube-api-burst=${limits.burst}`]),
    blow: { kind: 'fail' },
  };
}
