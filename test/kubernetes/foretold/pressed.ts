import { LAUNCHER, runProcess } from '../../support/run-process.ts';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import { eventually } from '../cluster/wait.ts';
import { whenPressureIsOver } from '../scenario/objects.ts';
import { clear, setNode } from './play.ts';
import { NODE_COUNT, RUNNING } from './small-cluster.ts';

const NODE = 'node-1';
/** What is left free. The kubelets of the tests evict below 32 MiB. */
const LEFT_MIB = 10;
const PODS = `/api/v1/namespaces/${RUNNING}/pods`;

/**
 * What each pod writes, asks for, and how important it is. When the first two are evicted, the disk
 * is still too full; when the third is, it is not.
 */
const WRITERS = [
  { name: 'within', mib: 12, request: '40Mi', className: 'spare' },
  { name: 'important', mib: 24, request: null, className: 'serve' },
  { name: 'small', mib: 2, request: null, className: 'train' },
  { name: 'unimportant', mib: 8, request: null, className: 'sweep' },
] as const;

/** The kubelet's order as foretold, and the pods that it evicted, in its order. */
export interface Pressed {
  readonly foretold: readonly string[];
  readonly evicted: readonly string[];
}

/** Fills the disk of a node, and compares the order of `whatif pressure` with the kubelet's. */
export async function pressNode(cluster: Cluster): Promise<Pressed> {
  await clear(cluster);
  for (let index = 1; index <= NODE_COUNT; index++)
    await setNode(cluster, { name: `node-${index}`, gpus: 2, labels: { pool: 'a' }, taints: [], unschedulable: index > 1 });
  for (const writer of WRITERS) await cluster.api.create(PODS, podOf(writer));
  await eventually('the kubelet to have measured what the pods wrote', async () => ((await isMeasured(cluster)) ? true : null));
  const foretold = await ask(cluster);
  const node = cluster.nodes.find(({ name }) => name === NODE);
  await node?.fillDisk(LEFT_MIB);
  try {
    const pods = await eventually('the important pod to be evicted', async () => {
      const found = await cluster.api.list(PODS);
      return found.some(({ metadata, status }) => metadata.name === 'important' && status?.phase === 'Failed') ? found : null;
    });
    const evicted = pods.filter(({ status }) => status?.reason === 'Evicted').toSorted((one, other) => evictedAt(one) - evictedAt(other));
    return { foretold, evicted: evicted.map(({ metadata }) => metadata.name) };
  } finally {
    await node?.freeDisk();
    await whenPressureIsOver(cluster, NODE, 'disk');
    await node?.importImages();
    await clear(cluster);
  }
}

function podOf({ name, mib, request, className }: (typeof WRITERS)[number]): unknown {
  const script = `trap 'exit 1' TERM; /busybox/head -c ${mib * 2 ** 20} /dev/zero > /data/file; while :; do /busybox/sleep 0.2; done`;
  const container = {
    name: 'main',
    image: BASE_IMAGE,
    imagePullPolicy: 'Never',
    command: ['/busybox/sh', '-c', script],
    resources: request === null ? {} : { requests: { 'ephemeral-storage': request } },
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  };
  return { metadata: { name }, spec: { priorityClassName: className, containers: [container], volumes: [{ name: 'data', emptyDir: {} }] } };
}

interface Summary {
  readonly pods: readonly {
    readonly podRef: { readonly name: string };
    readonly volume?: readonly { readonly name: string; readonly usedBytes?: number }[];
  }[];
}

async function isMeasured(cluster: Cluster): Promise<boolean> {
  const text = await cluster.api.text(`/api/v1/nodes/${NODE}/proxy/stats/summary`);
  if (text === null) return false;
  const { pods } = JSON.parse(text) as Summary;
  return WRITERS.every(({ name, mib }) => {
    const volumes = pods.find(({ podRef }) => podRef.name === name)?.volume ?? [];
    return (volumes.find((volume) => volume.name === 'data')?.usedBytes ?? 0) >= mib * 2 ** 20;
  });
}

async function ask(cluster: Cluster): Promise<readonly string[]> {
  const line = [LAUNCHER, 'whatif', 'pressure', NODE, '--resource=disk', '--node-proxy', `--kubeconfig=${cluster.kubeconfig}`, '--json'];
  const [program = '', ...rest] = cluster.inNetwork(line);
  const { stdout, stderr } = await runProcess(program, rest);
  const { canTell, order } = JSON.parse(stdout) as { readonly canTell: boolean; readonly order: readonly { readonly pod: string }[] };
  if (!canTell) throw new Error(`whatif pressure cannot tell: ${stdout}${stderr}`);
  return order.map(({ pod }) => pod.replace(`${RUNNING}/`, ''));
}

function evictedAt({ status }: KubeObject): number {
  const conditions = (status?.conditions ?? []) as readonly { readonly type: string; readonly lastTransitionTime: string }[];
  return Date.parse(conditions.find(({ type }) => type === 'DisruptionTarget')?.lastTransitionTime ?? '');
}
