import type { Cluster } from '../cluster/cluster.ts';
import { PAUSE_IMAGE } from '../cluster/runtime.ts';
import { eventually } from '../cluster/wait.ts';
import { clear, isRefused, setNode } from './play.ts';
import { ASKED, RUNNING } from './small-cluster.ts';

/** Which pods got a node. */
interface Reserved {
  readonly first: string | null;
  /** A pod of lower priority, then one of the same priority that came later. */
  readonly others: readonly (string | null)[];
}

const GPUS = 2;

/** What a promised node does, and what happens without the promise. */
export const RESERVED: Readonly<Record<'promised' | 'free', Reserved>> = {
  promised: { first: 'node-1', others: [null, null] },
  free: { first: null, others: ['node-1', 'node-1'] },
};

/** Plays both: the answer is {@link RESERVED} where a nominated node keeps its promise. */
export async function reserveBothWays(cluster: Cluster): Promise<typeof RESERVED> {
  return { promised: await reserveRoom(cluster, { isReserved: true }), free: await reserveRoom(cluster, { isReserved: false }) };
}

/**
 * A pod that never preempts wants both GPUs of the only open node, which two less important pods
 * hold. One of them leaves, then two pods come that fit the free GPU, then the other one leaves.
 * With `isReserved`, the node is promised to the first pod in its status before all this.
 */
async function reserveRoom(cluster: Cluster, { isReserved }: { readonly isReserved: boolean }): Promise<Reserved> {
  await clear(cluster);
  for (const [index, { name }] of cluster.nodes.entries())
    await setNode(cluster, { name, gpus: GPUS, labels: { pool: 'a' }, taints: [], unschedulable: index > 0 });
  for (const name of ['one', 'two']) {
    await create(cluster, { namespace: RUNNING, name, gpus: 1, className: 'train' });
    await eventually(`${name} to run`, async () => ((await podAt(cluster, RUNNING, name))?.status?.phase === 'Running' ? true : null));
  }
  await create(cluster, { namespace: ASKED, name: 'first', gpus: GPUS, className: 'inference-waits' });
  await whenDecided(cluster, 'first');
  if (isReserved) await cluster.api.patch(`${pods(ASKED)}/first/status`, { status: { nominatedNodeName: 'node-1' } });
  await leave(cluster, 'one');
  for (const [name, className] of [
    ['lower', 'train'],
    ['equal', 'inference-waits'],
  ] as const) {
    await create(cluster, { namespace: ASKED, name, gpus: 1, className });
    await whenDecided(cluster, name);
  }
  await leave(cluster, 'two');
  const heir = isReserved ? 'first' : 'equal';
  await eventually(`${heir} to have a node`, () => nodeOf(cluster, heir));
  const found = { first: await nodeOf(cluster, 'first'), others: [await nodeOf(cluster, 'lower'), await nodeOf(cluster, 'equal')] };
  await clear(cluster);
  return found;
}

const pods = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

interface PodWish {
  readonly namespace: string;
  readonly name: string;
  readonly gpus: number;
  readonly className: string;
}

async function create(cluster: Cluster, { namespace, name, gpus, className }: PodWish): Promise<void> {
  const container = {
    name: 'main',
    image: PAUSE_IMAGE,
    imagePullPolicy: 'Never',
    resources: { limits: { 'nvidia.com/gpu': String(gpus) } },
  };
  const spec = { priorityClassName: className, terminationGracePeriodSeconds: 1, containers: [container] };
  await cluster.api.create(pods(namespace), { metadata: { name }, spec });
}

function podAt(cluster: Cluster, namespace: string, name: string): ReturnType<Cluster['api']['get']> {
  return cluster.api.get(`${pods(namespace)}/${name}`);
}

async function nodeOf(cluster: Cluster, name: string): Promise<string | null> {
  return ((await podAt(cluster, ASKED, name))?.spec?.nodeName as string | undefined) ?? null;
}

/** Waits until the scheduler has tried a pod: it has a node, or none takes it. */
async function whenDecided(cluster: Cluster, name: string): Promise<void> {
  await eventually(`the scheduler to try ${name}`, async () => {
    const pod = await podAt(cluster, ASKED, name);
    return pod !== null && (pod.spec?.nodeName !== undefined || isRefused(pod)) ? true : null;
  });
}

async function leave(cluster: Cluster, name: string): Promise<void> {
  await cluster.api.remove(`${pods(RUNNING)}/${name}`);
  await eventually(`${name} to be gone`, async () => ((await podAt(cluster, RUNNING, name)) === null ? true : null));
}
