import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { whenReady } from '../cluster/node.ts';
import { eventually } from '../cluster/wait.ts';
import { nodeNamed } from './cause.ts';
import { runsOf } from './example.ts';
import { greedyPod } from './greedy-pod.ts';
import { GRANTED_SECONDS } from './kubelet-causes.ts';
import { MEMORY_IS_SHORT } from './memory-pressure.ts';
import {
  NEARLY_FULL_MIB,
  NODES,
  PODS,
  setTaints,
  whenNodeIsNotReady,
  whenNodeIsReady,
  whenPressureIsOver,
  whenUnderPressure,
} from './objects.ts';

export const GANG_JOBS = '/apis/kubeflow.org/v1/namespaces/default/pytorchjobs';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses';

/** A gang that trains, and the pod of it that something happens to. */
export interface Struck {
  readonly cluster: Cluster;
  readonly job: string;
  readonly victim: Role;
  readonly pod: string;
  readonly node: string;
}

export type Role = 'master' | 'worker';
/** The pod of a role, of which the gang has one each. */
export const podOfRole = (job: string, role: Role): string => `${job}-${role}-0`;
/** The folder through which a test talks to the trainers of a job. */
export const ordersOf = (cluster: Cluster, job: string): string => join(runsOf(cluster), job);

/** Something that happens to a gang of two pods. */
export interface GangCause {
  readonly title: string;
  readonly victim: Role;
  /** What the TrainingRun may call it. */
  readonly causes: readonly string[];
  /** It leaves time for a last save. */
  readonly isSaved: boolean;
  /** One of the four that CI plays. */
  readonly isInCi?: boolean;
  readonly interrupt: (struck: Struck) => Promise<void>;
  /** Ends the disturbance once the next attempt trains. */
  readonly relieve?: (struck: Struck) => Promise<void>;
}

const removeGreedy = ({ cluster, node }: Struck): Promise<void> => cluster.api.remove(`${PODS}/greedy-${node}?gracePeriodSeconds=0`);

/** The rank of a pod does as the file says. */
const order =
  (what: 'eat' | 'fill' | 'fill-more') =>
  async ({ cluster, job, victim }: Struck): Promise<void> =>
    writeFileSync(join(ordersOf(cluster, job), `${what}-${victim === 'master' ? 0 : 1}`), '');

async function evict({ cluster, pod }: Struck): Promise<void> {
  const metadata = { name: pod, namespace: 'default' };
  await cluster.api.create(`${PODS}/${pod}/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata });
}

async function bringBack({ cluster, node }: Struck): Promise<void> {
  const kubelet = nodeNamed(cluster, node);
  await kubelet.stopKubelet();
  kubelet.startKubelet();
  await whenReady(cluster.api, kubelet);
}

const loseNode = ({ cluster, node }: Struck): Promise<void> => nodeNamed(cluster, node).loseEverything();

/** Causes that act through the API. */
const BY_API: readonly GangCause[] = [
  {
    title: 'the worker is deleted',
    victim: 'worker',
    causes: ['POD_DELETED'],
    isSaved: true,
    isInCi: true,
    interrupt: ({ cluster, pod }) => cluster.api.remove(`${PODS}/${pod}`),
  },
  {
    title: 'the master is deleted with a grace of 3 s',
    victim: 'master',
    causes: ['POD_DELETED'],
    isSaved: false,
    interrupt: ({ cluster, pod }) => cluster.api.remove(`${PODS}/${pod}?gracePeriodSeconds=3`),
  },
  {
    title: 'the worker is deleted by force',
    victim: 'worker',
    causes: ['POD_DELETED'],
    isSaved: false,
    interrupt: ({ cluster, pod }) => cluster.api.remove(`${PODS}/${pod}?gracePeriodSeconds=0`),
  },
  {
    title: 'the master is evicted by a drain',
    victim: 'master',
    causes: ['API_EVICTION'],
    isSaved: true,
    isInCi: true,
    interrupt: evict,
  },
  {
    title: 'the worker is evicted by a drain, once its PodDisruptionBudget gives way',
    victim: 'worker',
    causes: ['API_EVICTION'],
    isSaved: true,
    async interrupt(struck) {
      const { cluster, job } = struck;
      const spec = { minAvailable: 2, selector: { matchLabels: { 'training.kubeflow.org/job-name': job } } };
      await cluster.api.create(BUDGETS, { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: job }, spec });
      await eventually('the budget to be counted', async () =>
        (await cluster.api.get(`${BUDGETS}/${job}`))?.status?.currentHealthy === 2 ? true : null,
      );
      const answer = await evict(struck).then(
        () => 'granted',
        (thrown: unknown) => String(thrown),
      );
      await cluster.api.remove(`${BUDGETS}/${job}`);
      if (!/was answered with (429|500)/.test(answer)) throw new Error(`an eviction against the budget: ${answer}`);
      await evict(struck);
    },
  },
  {
    title: 'the node of the master gets a taint with NoExecute',
    victim: 'master',
    causes: ['NODE_TAINT'],
    isSaved: true,
    interrupt: ({ cluster, node }) => setTaints(cluster, node, [{ key: 'holdfast.test/maintenance', effect: 'NoExecute' }]),
    relieve: ({ cluster, node }) => setTaints(cluster, node, []),
  },
  {
    title: 'the job is suspended, and resumed later',
    victim: 'worker',
    causes: ['JOB_SUSPENDED'],
    isSaved: true,
    async interrupt({ cluster, job }) {
      const set = (suspend: boolean): Promise<unknown> => cluster.api.patch(`${GANG_JOBS}/${job}`, { spec: { runPolicy: { suspend } } });
      await set(true);
      await eventually('the pods of the suspended job to go', async () =>
        (await cluster.api.list(`${PODS}?labelSelector=training.kubeflow.org/job-name=${job}`)).length === 0 ? true : null,
      );
      await set(false);
    },
  },
  {
    title: 'a pod of higher priority takes the place of the worker (scheduler)',
    victim: 'worker',
    causes: ['SCHEDULER_PREEMPTION'],
    isSaved: true,
    async interrupt({ cluster, node }) {
      const metadata = { name: 'urgent' };
      await cluster.api.create(CLASSES, { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata, value: 1000 });
      const pod = greedyPod(node, { priorityClassName: 'urgent', nodeSelector: { 'kubernetes.io/hostname': node } });
      // The API server accepts a new priority class only after a moment.
      await eventually('the pod of higher priority', () => cluster.api.create(PODS, pod).catch(() => null));
    },
    relieve: removeGreedy,
  },
];

/** Causes that a kubelet or a kernel starts. */
const BY_NODE: readonly GangCause[] = [
  {
    title: 'a critical pod takes the place of the master (kubelet)',
    victim: 'master',
    causes: ['CRITICAL_POD'],
    isSaved: true,
    async interrupt({ cluster, node }) {
      await cluster.api.create(PODS, greedyPod(node, { priorityClassName: 'system-node-critical', nodeName: node }));
    },
    relieve: removeGreedy,
  },
  {
    title: 'the machine of the worker is shut down',
    victim: 'worker',
    causes: ['MACHINE_SHUTDOWN'],
    isSaved: true,
    async interrupt({ cluster, node }) {
      await nodeNamed(cluster, node).announceShutdown(true);
      await whenNodeIsNotReady(cluster, node);
    },
    async relieve({ cluster, node }) {
      await nodeNamed(cluster, node).announceShutdown(false);
      await whenNodeIsReady(cluster, node);
    },
  },
  {
    title: 'the worker runs out of memory',
    victim: 'worker',
    causes: ['OUT_OF_MEMORY'],
    isSaved: false,
    isInCi: true,
    interrupt: order('eat'),
  },
  {
    title: 'an emptyDir of the master outgrows its sizeLimit',
    victim: 'master',
    causes: ['EMPTY_DIR_LIMIT'],
    isSaved: false,
    interrupt: order('fill'),
  },
  {
    title: 'the worker outgrows its limit of ephemeral-storage',
    victim: 'worker',
    causes: ['EPHEMERAL_STORAGE_LIMIT'],
    isSaved: false,
    interrupt: order('fill-more'),
  },
  {
    title: 'the disk of the master’s node is nearly full',
    victim: 'master',
    causes: ['DISK_PRESSURE', 'NODE_PRESSURE'],
    isSaved: false,
    async interrupt({ cluster, node }) {
      await nodeNamed(cluster, node).fillDisk(NEARLY_FULL_MIB);
      await whenUnderPressure(cluster, node, 'disk');
    },
    async relieve({ cluster, node }) {
      await nodeNamed(cluster, node).freeDisk();
      await whenPressureIsOver(cluster, node, 'disk');
      await nodeNamed(cluster, node).importImages();
    },
  },
  {
    title: 'the memory of the worker’s node is short',
    victim: 'worker',
    causes: ['MEMORY_PRESSURE', 'NODE_PRESSURE'],
    isSaved: true,
    async interrupt({ cluster, node }) {
      const kubelet = nodeNamed(cluster, node);
      await kubelet.stopKubelet();
      kubelet.startKubelet({ ...MEMORY_IS_SHORT, evictionMaxPodGracePeriod: GRANTED_SECONDS });
      await whenUnderPressure(cluster, node, 'memory');
    },
    async relieve(struck) {
      await bringBack(struck);
      await whenPressureIsOver(struck.cluster, struck.node, 'memory');
    },
  },
];

/** Causes in which a node stops reporting or is removed. */
const BY_LOSS: readonly GangCause[] = [
  {
    title: 'the kubelet of the worker is away until its pods are given up, and comes back',
    victim: 'worker',
    causes: ['NODE_LOST'],
    isSaved: false,
    interrupt: ({ cluster, node }) => nodeNamed(cluster, node).stopKubelet(),
    relieve: bringBack,
  },
  {
    title: 'the node of the master loses its power',
    victim: 'master',
    causes: ['NODE_LOST'],
    isSaved: false,
    isInCi: true,
    interrupt: loseNode,
    relieve: bringBack,
  },
  {
    title: 'the node of the worker loses its power',
    victim: 'worker',
    causes: ['NODE_LOST'],
    isSaved: false,
    interrupt: loseNode,
    relieve: bringBack,
  },
  {
    title: 'the node object of the master is deleted, while its kubelet runs on',
    victim: 'master',
    causes: ['NODE_DELETED', 'POD_DELETED'],
    isSaved: false,
    interrupt: ({ cluster, node }) => cluster.api.remove(`${NODES}/${node}`),
    relieve: bringBack,
  },
];

/** What one job goes through, one cause after the other. */
export interface GangPlay {
  readonly job: string;
  readonly causes: readonly GangCause[];
}

/** The plays of the recorded table, each of which ends with the weights of its twin. */
export const RECORDED_PLAYS: readonly GangPlay[] = [
  { job: 'loss', causes: BY_LOSS },
  { job: 'api', causes: BY_API },
  { job: 'node', causes: BY_NODE },
];
/** The play of CI: four causes, two for each pod. */
export const CI_PLAYS: readonly GangPlay[] = [
  { job: 'gang', causes: RECORDED_PLAYS.flatMap(({ causes }) => causes).filter(({ isInCi = false }) => isInCi) },
];

/** When Kubernetes declared a node lost that does not report now; null: it reports, or is gone. */
export async function declaredLostMs(cluster: Cluster, node: string): Promise<number | null> {
  const conditions = ((await cluster.api.get(`${NODES}/${node}`))?.status?.conditions ?? []) as readonly Reported[];
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready?.status === 'Unknown' ? Date.parse(ready.lastTransitionTime) : null;
}

interface Reported {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime: string;
}
