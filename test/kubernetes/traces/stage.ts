import type { KubeObject } from '../cluster/api.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { type ClusterNode, whenReady } from '../cluster/node.ts';
import type { NodeOptions } from '../cluster/options.ts';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import { eventually } from '../cluster/wait.ts';
import { Lanes } from '../scenario/lanes.ts';
import { NODES, type Taint, cordon, setTaints, taintsOf, trueConditions, whenPressureIsOver } from '../scenario/objects.ts';

/** How full an emptyDir is a kubelet looks only once a minute by itself. */
const KUBELET = { volumeStatsAggPeriod: '2s' };
/** Room for many scenarios at a time. */
const SHARED: NodeOptions = { diskMiB: 2048, kubelet: KUBELET };
/** For scenarios about taints, which those on the other nodes must not meet. */
const LEAVING: NodeOptions = {
  ...SHARED,
  labels: { 'holdfast.test/place': 'leaving' },
  taints: [{ key: 'holdfast.test/leaving', effect: 'NoExecute' }],
};
/** What keeps others off a node that one scenario has to itself. */
const SPARE_TAINT = { key: 'holdfast.test/spare', effect: 'NoSchedule' } as const;
/** For what is done to a whole node; a filled disk is well above the threshold, an empty one well below. */
const SPARE: NodeOptions = {
  diskMiB: 1200,
  kubelet: KUBELET,
  taints: [SPARE_TAINT],
  resources: { 'nvidia.com/gpu': 1, 'holdfast.test/seat': 2 },
  evictionHard: { 'nodefs.available': '300Mi', 'imagefs.available': '100Mi' },
  shutdownGraceSeconds: 20,
};
const COMMON = [SHARED, SHARED, LEAVING];
/** So many scenarios with a node of their own are played at a time. */
export const SPARE_NODES = 3;

const CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses';
const PRIORITY_CLASSES = [
  ['urgent', 'PreemptLowerPriority'],
  ['patient', 'Never'],
] as const;
const PODS = '/api/v1/namespaces/default/pods';
/** The taint of a node that takes no new pods, which a controller puts there. */
const CLOSED = 'node.kubernetes.io/unschedulable';

/** Where scenarios are played. */
export interface Stage extends AsyncDisposable {
  readonly cluster: Cluster;
  /** Waits for a node that nobody else has, and brings it back into order afterwards. */
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

/** Whatever was done to it: room on its disk, a kubelet that knows of no shutdown, and no pod, mark or taint of the play before. */
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
 * Waits until the controllers know that the node is as it should be, and nothing of what they did before is left. They go by what they were told last: one that
 * has not heard yet that a kubelet is back may still taint its node, when everybody else takes it for ready. That a node is closed each of them has to be told after that.
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

/** Ready, open, short of nothing, and with no taint but its own. */
function isInOrder(node: KubeObject | null): boolean {
  const conditions = trueConditions(node).map(({ type }) => type);
  const taints = ((node?.spec?.taints ?? []) as readonly Taint[]).map(({ key }) => key);
  return node?.spec?.unschedulable !== true && conditions.join() === 'Ready' && taints.join() === SPARE_TAINT.key;
}

/** Classes of pods that go before others, `urgent` ones by force and `patient` ones when there is room; the API server itself learns of a new one a moment later. */
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
