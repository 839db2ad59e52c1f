import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import { eventually } from '../cluster/wait.ts';
import { JOBS, PODS, cordon, setTaints, taintsOf, whenNextPodIsPlaced, whenNodeIsReady } from './objects.ts';
import { GPU } from './training-job.ts';

/** A run that holds at its step, and waits to be interrupted. */
export interface HoldingRun {
  readonly cluster: Cluster;
  readonly job: string;
  readonly pod: string;
  readonly node: string;
  readonly shared: string;
}

export interface Cause {
  readonly name: string;
  /** For a table that people read. */
  readonly title: string;
  /** What becomes of a run that leaves with 0 when it is told to end: called complete though it is not, or started again by its Job. */
  readonly exitWithZero: 'complete' | 'started again';
  /** How a supervised run may end by it: 143 where there is time for an orderly end, 137 where a kill may come first. */
  readonly exitCodes: readonly number[];
  interrupt(run: HoldingRun): Promise<void>;
  /** Lets the Job go on, once the pod has ended. */
  relieve(run: HoldingRun): Promise<void>;
}

const CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses';
/** Less than the threshold of the nodes. */
const FREE_MIB = 150;
const MAINTENANCE = 'holdfast.test/maintenance';

/** Has the next pod of the Job placed elsewhere. */
const keepOff = ({ cluster, node }: HoldingRun): Promise<void> => cordon(cluster, node, true);

/** Waits until it is, and lets the node take pods again. */
async function oncePlaced({ cluster, node, job }: HoldingRun): Promise<void> {
  await whenNextPodIsPlaced(cluster, job, node);
  await cordon(cluster, node, false);
}

export const CAUSES: readonly Cause[] = [
  {
    name: 'delete',
    title: 'the pod is deleted, with its grace',
    exitWithZero: 'complete',
    exitCodes: [143],
    async interrupt(run) {
      await keepOff(run);
      await run.cluster.api.remove(`${PODS}/${run.pod}`);
    },
    relieve: oncePlaced,
  },
  {
    name: 'force-delete',
    title: 'the pod is deleted by force, without grace',
    exitWithZero: 'complete',
    exitCodes: [143, 137],
    async interrupt(run) {
      await keepOff(run);
      await run.cluster.api.remove(`${PODS}/${run.pod}?gracePeriodSeconds=0`);
    },
    relieve: oncePlaced,
  },
  {
    name: 'drain',
    title: 'the node is drained (eviction API)',
    exitWithZero: 'complete',
    exitCodes: [143],
    async interrupt(run) {
      await keepOff(run);
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: run.pod, namespace: 'default' } };
      await run.cluster.api.create(`${PODS}/${run.pod}/eviction`, eviction);
    },
    relieve: oncePlaced,
  },
  {
    name: 'taint',
    title: 'the node gets a taint with NoExecute',
    exitWithZero: 'complete',
    exitCodes: [143],
    interrupt: ({ cluster, node }) => setTaints(cluster, node, [{ key: MAINTENANCE, effect: 'NoExecute' }]),
    async relieve({ cluster, node, job }) {
      await whenNextPodIsPlaced(cluster, job, node);
      await setTaints(cluster, node, []);
    },
  },
  {
    name: 'suspend',
    title: 'the Job is suspended, and resumed later',
    exitWithZero: 'started again',
    exitCodes: [143],
    async interrupt(run) {
      await keepOff(run);
      await run.cluster.api.patch(`${JOBS}/${run.job}`, { spec: { suspend: true } });
    },
    async relieve(run) {
      await run.cluster.api.patch(`${JOBS}/${run.job}`, { spec: { suspend: false } });
      await oncePlaced(run);
    },
  },
  {
    name: 'preemption',
    title: 'a pod of higher priority takes its place (scheduler)',
    exitWithZero: 'complete',
    exitCodes: [143],
    async interrupt({ cluster, node }) {
      await ensurePriorityClass(cluster);
      const pod = greedyPod(node, { priorityClassName: 'urgent', nodeSelector: { 'kubernetes.io/hostname': node } });
      // The API server itself learns of a new class a moment later.
      const create = (): Promise<unknown> =>
        cluster.api.create(PODS, pod).catch((thrown: unknown) => {
          if (String(thrown).includes('no PriorityClass with name')) return null;
          throw thrown;
        });
      await eventually('the pod of higher priority', create);
    },
    async relieve({ cluster, node, job }) {
      await whenNextPodIsPlaced(cluster, job, node);
      await cluster.api.remove(`${PODS}/greedy-${node}?gracePeriodSeconds=0`);
    },
  },
  {
    name: 'critical',
    title: 'a critical pod takes its place (kubelet)',
    exitWithZero: 'complete',
    exitCodes: [143],
    async interrupt({ cluster, node }) {
      await cluster.api.create(PODS, greedyPod(node, { priorityClassName: 'system-node-critical', nodeName: node }));
    },
    async relieve({ cluster, node, job }) {
      await whenNextPodIsPlaced(cluster, job, node);
      await cluster.api.remove(`${PODS}/greedy-${node}?gracePeriodSeconds=0`);
    },
  },
  {
    name: 'shutdown',
    title: 'the machine is shut down (graceful node shutdown)',
    exitWithZero: 'complete',
    exitCodes: [143],
    interrupt: ({ cluster, node }) => nodeNamed(cluster, node).announceShutdown(true),
    async relieve({ cluster, node, job }) {
      await whenNextPodIsPlaced(cluster, job, node);
      await nodeNamed(cluster, node).announceShutdown(false);
      await whenNodeIsReady(cluster, node);
    },
  },
  {
    name: 'oom',
    title: 'the trainer takes more memory than its limit',
    exitWithZero: 'complete',
    exitCodes: [137],
    async interrupt(run) {
      await keepOff(run);
      writeFileSync(join(run.shared, 'eat'), '');
    },
    relieve: oncePlaced,
  },
  {
    name: 'size-limit',
    title: 'its emptyDir grows above its sizeLimit',
    exitWithZero: 'complete',
    exitCodes: [143, 137],
    async interrupt(run) {
      await keepOff(run);
      writeFileSync(join(run.shared, 'fill'), '');
    },
    relieve: oncePlaced,
  },
  {
    name: 'disk-pressure',
    title: 'the node’s disk is nearly full (hard eviction)',
    exitWithZero: 'complete',
    exitCodes: [143, 137],
    interrupt: ({ cluster, node }) => nodeNamed(cluster, node).fillDisk(FREE_MIB),
    async relieve({ cluster, node, job }) {
      await whenNextPodIsPlaced(cluster, job, node);
      await nodeNamed(cluster, node).freeDisk();
      await eventually('the end of the pressure', async () => {
        const taints = await taintsOf(cluster, node);
        return taints.some(({ key }) => key === 'node.kubernetes.io/disk-pressure') ? null : true;
      });
      await nodeNamed(cluster, node).importImages();
    },
  },
];

function nodeNamed(cluster: Cluster, name: string): Cluster['nodes'][number] {
  const node = cluster.nodes.find((each) => each.name === name);
  if (node === undefined) throw new Error(`there is no node ${name}`);
  return node;
}

async function ensurePriorityClass(cluster: Cluster): Promise<void> {
  if ((await cluster.api.get(`${CLASSES}/urgent`)) !== null) return;
  const metadata = { name: 'urgent' };
  // Another run may make it at the same moment.
  await cluster.api
    .create(CLASSES, { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata, value: 1000 })
    .catch(async (thrown: unknown) => {
      if ((await cluster.api.get(`${CLASSES}/urgent`)) === null) throw thrown;
    });
}

/** A pod that wants the node's only GPU. */
function greedyPod(node: string, spec: Readonly<Record<string, unknown>>): unknown {
  const container = { name: 'greedy', image: BASE_IMAGE, imagePullPolicy: 'Never', command: ['/busybox/sleep', '3600'] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `greedy-${node}` },
    spec: { ...spec, containers: [{ ...container, resources: { limits: { [GPU]: '1' } } }] },
  };
}
