import type { KubeObject } from '../cluster/api.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { type ClusterNode, whenReady } from '../cluster/node.ts';
import type { NodeOptions } from '../cluster/options.ts';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import { eventually } from '../cluster/wait.ts';
import { Lanes } from '../scenario/lanes.ts';
import { NODES, type Taint, cordon, setTaints, taintsOf, trueConditions, whenPressureIsOver } from '../scenario/objects.ts';

/** By default a kubelet measures an emptyDir only once a minute. */
const KUBELET = { volumeStatsAggPeriod: '2s' };
/** A node with room for many scenarios at a time. */
const SHARED: NodeOptions = { diskMiB: 2048, kubelet: KUBELET };
/** For scenarios about taints, which must not affect pods on the other nodes. */
const LEAVING: NodeOptions = {
  ...SHARED,
  labels: { 'holdfast.test/place': 'leaving' },
  taints: [{ key: 'holdfast.test/leaving', effect: 'NoExecute' }],
};
/** Keeps other pods off a node that belongs to one scenario. */
const SPARE_TAINT = { key: 'holdfast.test/spare', effect: 'NoSchedule' } as const;
/**
 * For actions on a whole node. A filled disk is well above the threshold, an empty one well below.
 */
const SPARE: NodeOptions = {
  diskMiB: 1200,
  kubelet: KUBELET,
  taints: [SPARE_TAINT],
  resources: { 'nvidia.com/gpu': 1, 'holdfast.test/seat': 2 },
  evictionHard: { 'nodefs.available': '300Mi', 'imagefs.available': '100Mi' },
  shutdownGraceSeconds: 20,
};
const COMMON = [SHARED, SHARED, LEAVING];
/** How many scenarios with their own node are played at a time. */
export const SPARE_NODES = 3;

const CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses';
const PRIORITY_CLASSES = [
  ['urgent', 'PreemptLowerPriority'],
  ['patient', 'Never'],
] as const;
const PODS = '/api/v1/namespaces/default/pods';
/** The taint that a controller puts on a closed node. */
const CLOSED = 'node.kubernetes.io/unschedulable';

/** The cluster on which scenarios are played. */
export interface Stage extends AsyncDisposable {
  readonly cluster: Cluster;
  /** Waits for a node that no other play holds, and restores it afterwards. */
  withNode<Value>(work: (node: ClusterNode) => Promise<Value>): Promise<Value>;
}

export async function startStage(signal?: AbortSignal): Promise<Stage> {
  const spare = Array.from({ length: SPARE_NODES }, () => SPARE);
  const cluster = await startCluster({ nodes: [...COMMON, ...spare], ...(signal === undefined ? {} : { signal }) });
  const stage = {
    cluster,
    withNode: withNodeOf(cluster, signal),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
  try {
    await providePriority(cluster, signal);
    return stage;
  } catch (thrown) {
    await stage[Symbol.asyncDispose]();
    throw thrown;
  }
}

function withNodeOf(cluster: Cluster, signal: AbortSignal | undefined): Stage['withNode'] {
  const lanes = new Lanes(SPARE_NODES);
  return (work) =>
    lanes.use(async (lane) => {
      const node = cluster.nodes[COMMON.length + lane - 1];
      if (node === undefined) throw new Error(`there is no spare node ${lane}`);
      try {
        return await work(node);
      } finally {
        if (signal?.aborted !== true) await bringIntoOrder(cluster, node);
      }
    });
}

/**
 * Restores a node after any action: room on its disk, a kubelet without a pending shutdown, and no
 * pods, marks or taints.
 */
async function bringIntoOrder(cluster: Cluster, node: ClusterNode): Promise<void> {
  await node.freeDisk();
  await node.announceShutdown(false);
  await node.stopKubelet();
  node.startKubelet();
  await whenReady(cluster.api, node);
  await whenPressureIsOver(cluster, node.name, 'disk');
  await whenPressureIsOver(cluster, node.name, 'memory');
  await node.importImages();
  await setTaints(cluster, node.name, [SPARE_TAINT]);
  await whenControllersKnow(cluster, node);
  await eventually(`${node.name} to have no pods`, async () => {
    const pods = await cluster.api.list(`/api/v1/pods?fieldSelector=spec.nodeName=${node.name}`);
    return pods.length === 0 ? true : null;
  });
}

/**
 * Waits until the controllers have seen that the node is in order, and have undone their earlier
 * actions. Each acts on what it saw last: one that has not yet seen the kubelet return may still
 * taint the node. So each must afterwards see that the node is closed.
 */
async function whenControllersKnow(cluster: Cluster, node: ClusterNode): Promise<void> {
  await cordon(cluster, node.name, true);
  await eventually(`${node.name} to be known as closed`, async () => {
    return (await taintsOf(cluster, node.name)).some(({ key }) => key === CLOSED) ? true : null;
  });
  await cordon(cluster, node.name, false);
  await eventually(`${node.name} to be wholly in order`, async () =>
    isInOrder(await cluster.api.get(`${NODES}/${node.name}`)) ? true : null,
  );
}

/** Whether the node is ready, open, without pressure, and without taints except its own. */
function isInOrder(node: KubeObject | null): boolean {
  const conditions = trueConditions(node).map(({ type }) => type);
  const taints = ((node?.spec?.taints ?? []) as readonly Taint[]).map(({ key }) => key);
  return node?.spec?.unschedulable !== true && conditions.join() === 'Ready' && taints.join() === SPARE_TAINT.key;
}

/**
 * Creates priority classes: `urgent` preempts others, `patient` waits for room. The API server
 * accepts a new class only after a moment.
 */
async function providePriority(cluster: Cluster, signal?: AbortSignal): Promise<void> {
  for (const [name, preemptionPolicy] of PRIORITY_CLASSES) {
    const kind = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass' };
    await cluster.api.create(CLASSES, { ...kind, metadata: { name }, value: 1000, preemptionPolicy });
    const spec = { priorityClassName: name, containers: [{ name: 'main', image: BASE_IMAGE }] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
    const isKnown = (): Promise<unknown> => cluster.api.create(`${PODS}?dryRun=All`, pod).catch(() => null);
    await eventually(`the class of ${name} pods`, isKnown, { signal });
  }
}
