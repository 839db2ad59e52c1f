import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import { GANG_JOBS } from '../scenario/gang-causes.ts';
import { type Condition, trueConditions } from '../scenario/objects.ts';

const API = '/apis/kueue.x-k8s.io/v1beta2';
/** The share of a gang of two pods that has the whole quota, and of one that has half of it. */
export const [WHOLE_SHARE, HALF_SHARE] = ['200m', '100m'];
const QUOTA = { cpu: '400m', memory: '100Gi', 'ephemeral-storage': '100Gi' };

/** A queue with two priorities. A gang of the higher one preempts one of the lower. */
export async function createQueue({ api }: Cluster): Promise<void> {
  const create = (path: string, kind: string, name: string, more: object): Promise<KubeObject> =>
    api.create(`${API}/${path}`, { apiVersion: 'kueue.x-k8s.io/v1beta2', kind, metadata: { name }, ...more });
  for (const [name, value] of Object.entries({ low: 1, high: 100 }))
    await create('workloadpriorityclasses', 'WorkloadPriorityClass', name, { value });
  await create('clusterqueues', 'ClusterQueue', 'training', {
    spec: {
      namespaceSelector: {},
      preemption: { withinClusterQueue: 'LowerPriority' },
      resourceGroups: [
        {
          coveredResources: Object.keys(QUOTA),
          flavors: [
            { name: 'default', resources: Object.entries(QUOTA).map(([resource, nominalQuota]) => ({ name: resource, nominalQuota })) },
          ],
        },
      ],
    },
  });
  await create('namespaces/default/localqueues', 'LocalQueue', 'training', { spec: { clusterQueue: 'training' } });
}

/** The labels by which a job waits in the queue. */
export function inQueue(priority: 'low' | 'high'): Readonly<Record<string, string>> {
  return { 'kueue.x-k8s.io/queue-name': 'training', 'kueue.x-k8s.io/priority-class': priority };
}

interface Waiting {
  readonly name: string;
  readonly priority: 'low' | 'high';
  readonly cpu: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The nodes of master and worker. */
  readonly nodes?: readonly [string, string];
}

/** A gang of two pods that does nothing until `/runs/<name>/go` is there, and then succeeds. */
export async function createWaiting({ api }: Cluster, { name, priority, cpu, annotations = {}, nodes }: Waiting): Promise<void> {
  const script = `trap "exit 143" TERM; until [ -e /runs/${name}/go ]; do /busybox/sleep 0.2; done`;
  const container = {
    name: 'pytorch',
    image: BASE_IMAGE,
    imagePullPolicy: 'Never',
    command: ['/busybox/sh', '-c', script],
    resources: { requests: { cpu } },
    volumeMounts: [{ name: 'runs', mountPath: '/runs' }],
  };
  const role = (node: string | undefined): object => ({
    replicas: 1,
    template: {
      spec: {
        terminationGracePeriodSeconds: 5,
        containers: [container],
        volumes: [{ name: 'runs', persistentVolumeClaim: { claimName: 'runs' } }],
        ...(node === undefined ? {} : { nodeSelector: { 'kubernetes.io/hostname': node } }),
      },
    },
  });
  await api.create(GANG_JOBS, {
    apiVersion: 'kubeflow.org/v1',
    kind: 'PyTorchJob',
    metadata: { name, annotations, labels: inQueue(priority) },
    spec: { pytorchReplicaSpecs: { Master: role(nodes?.[0]), Worker: role(nodes?.[1]) } },
  });
}

/** Whether an object is the workload that Kueue made for a job. */
export function isWorkloadOf({ metadata }: KubeObject, job: string): boolean {
  const { ownerReferences = [] } = metadata as { readonly ownerReferences?: readonly { readonly name: string }[] };
  return ownerReferences.some(({ name }) => name === job);
}

/** Whether a condition of this type holds, for this reason if one is given. */
export function holds(object: KubeObject, type: string, reason?: string): boolean {
  return trueConditions(object).some((each) => each.type === type && (reason === undefined || each.reason === reason));
}

/** Whether a condition of this type is said not to hold. */
export function isFalse(object: KubeObject, type: string, reason?: string): boolean {
  const all = (object.status?.conditions ?? []) as readonly Condition[];
  return all.some((each) => each.type === type && each.status === 'False' && (reason === undefined || each.reason === reason));
}

/** The pods of a job that run, by its status. */
export function activeOf({ status }: KubeObject): number {
  const roles = Object.values((status?.replicaStatuses ?? {}) as Readonly<Record<string, { readonly active?: number }>>);
  return roles.reduce((sum, { active = 0 }) => sum + active, 0);
}
