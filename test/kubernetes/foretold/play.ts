import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAUNCHER, runProcess } from '../../support/run-process.ts';
import type { KubeObject } from '../cluster/api.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import type { Release } from '../cluster/options.ts';
import { PAUSE_IMAGE } from '../cluster/runtime.ts';
import { eventually } from '../cluster/wait.ts';
import { NODES } from '../scenario/objects.ts';
import { type Foretold, judge, type Seen, type Verdict } from './judge.ts';
import { ASKED, CLASSES, type Manifest, NODE_COUNT, RUNNING, type SmallCluster } from './small-cluster.ts';

const GPU = 'nvidia.com/gpu';
const PODS = '/api/v1/pods';
const PLURALS: Readonly<Record<string, string>> = {
  Pod: '/api/v1 pods',
  Deployment: '/apis/apps/v1 deployments',
  Job: '/apis/batch/v1 jobs',
  PodDisruptionBudget: '/apis/policy/v1 poddisruptionbudgets',
};
/** A pod that asks for nothing and has a place anywhere, behind the pods of the question. */
const PROBE = 'probe';

/** How one small cluster went. */
export interface Played {
  readonly seed: number;
  readonly asked: string;
  readonly evicted: number;
  readonly nowhere: number;
  readonly verdict: Verdict;
}

/** Starts a real cluster for any number of small ones, with their namespaces and classes. */
export async function startForSmallClusters(release: Release = '1.35', count = NODE_COUNT): Promise<Cluster> {
  // Volumes are measured soon, for `whatif pressure`.
  const node = { diskMiB: 256, kubelet: { volumeStatsAggPeriod: '2s' } };
  const cluster = await startCluster({ release, nodes: Array.from({ length: count }, () => node) });
  for (const name of [RUNNING, ASKED]) await cluster.api.create('/api/v1/namespaces', { metadata: { name } });
  for (const [name, value, preemptionPolicy] of CLASSES)
    await cluster.api.create('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name }, value, preemptionPolicy });
  for (const name of [RUNNING, ASKED])
    await eventually(`the service account of ${name}`, () => cluster.api.get(`/api/v1/namespaces/${name}/serviceaccounts/default`));
  return cluster;
}

/** Makes a small cluster of the real one, asks `whatif`, then applies the same file. */
export async function playSmallCluster(cluster: Cluster, small: SmallCluster): Promise<Played> {
  await clear(cluster);
  for (const node of small.nodes) await setNode(cluster, node);
  for (const wave of small.waves) {
    for (const manifest of wave) await create(cluster, manifest);
    await whenSettled(cluster, wave);
  }
  const file = join(cluster.folder, `asked-${small.seed}.yaml`);
  writeFileSync(file, JSON.stringify(small.question, null, 2));
  const foretold = await ask(cluster, file);
  const seen = await apply(cluster, small, file, foretold);
  await clear(cluster);
  const { kind } = small.question;
  return {
    seed: small.seed,
    asked: small.asked === 1 ? kind : `${kind} of ${small.asked} pods`,
    evicted: foretold.evicted.length,
    nowhere: foretold.pods.filter(({ node }) => node === null).length,
    verdict: judge(foretold, seen),
  };
}

/** Asks as a person does, in the network of the cluster. */
async function ask(cluster: Cluster, file: string): Promise<Foretold> {
  const line = [LAUNCHER, 'whatif', 'apply', '-f', file, `--kubeconfig=${cluster.kubeconfig}`, '--json'];
  const [program = '', ...rest] = cluster.inNetwork(line);
  const { code, stdout, stderr } = await runProcess(program, rest);
  if (code !== 0 && code !== 1) throw new Error(`whatif ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Foretold;
}

/** Applies the file, and watches until each pod has a node or is refused. */
async function apply(cluster: Cluster, small: SmallCluster, file: string, foretold: Foretold): Promise<Seen> {
  const ending = new AbortController();
  const victims = new Map<string, number | null>();
  const list = (await cluster.api.text(`${PODS}?limit=1`)) ?? '';
  const { resourceVersion } = (JSON.parse(list) as { readonly metadata: { readonly resourceVersion: string } }).metadata;
  const watching = cluster.api.watch(
    `${PODS}?watch=1&resourceVersion=${resourceVersion}`,
    (line) => {
      const { object } = JSON.parse(line) as { readonly object: EndingPod };
      if (object.metadata.deletionTimestamp === undefined || !isPreempted(object)) return;
      const key = `${object.metadata.namespace}/${object.metadata.name}`;
      if (!victims.has(key)) victims.set(key, object.metadata.deletionGracePeriodSeconds ?? null);
    },
    ending.signal,
  );
  try {
    await cluster.run([...cluster.kubectlCommand, 'apply', '-f', file]);
    const stuck = foretold.pods.filter(({ node }) => node === null).length;
    await eventually('the pods of the question to settle', async () => {
      const pods = await askedPods(cluster);
      const bound = pods.filter(({ spec }) => spec?.nodeName !== undefined).length;
      const refused = pods.filter((pod) => isRefused(pod)).length;
      return pods.length === small.asked && bound >= small.asked - stuck && bound + refused === small.asked ? true : null;
    });
    await passQueue(cluster, small.question);
    const pods = await askedPods(cluster);
    const messages = await firstMessages(cluster);
    const preemptors = await preemptorsOf(cluster, [...victims.keys()]);
    const own = new Set(pods.map(({ metadata }) => metadata.uid));
    return {
      pods: pods.map(({ metadata, spec }) => ({ node: spec?.nodeName ?? null, message: messages.get(metadata.uid) ?? null })),
      victims: [...victims].flatMap(([pod, graceSeconds]) => (own.has(preemptors.get(pod) ?? '') ? [{ pod, graceSeconds }] : [])),
    };
  } finally {
    ending.abort();
    await watching;
  }
}

interface EndingPod extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly namespace: string; readonly deletionGracePeriodSeconds?: number };
}

function isPreempted({ status }: KubeObject): boolean {
  return conditionsOf(status).some(({ type, reason }) => type === 'DisruptionTarget' && reason === 'PreemptionByScheduler');
}

/** No node takes it, and none is promised to it. */
export function isRefused({ spec, status }: KubeObject): boolean {
  if (spec?.nodeName !== undefined || status?.nominatedNodeName !== undefined) return false;
  return conditionsOf(status).some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable');
}

function conditionsOf(status: KubeObject['status']): readonly { readonly type: string; readonly reason?: string }[] {
  return (status?.conditions ?? []) as readonly { readonly type: string; readonly reason?: string }[];
}

async function askedPods(cluster: Cluster): Promise<readonly KubeObject[]> {
  return (await cluster.api.list(`/api/v1/namespaces/${ASKED}/pods`)).filter(({ metadata }) => metadata.name !== PROBE);
}

/** The scheduler takes pods by priority, then by age: when the probe has a node, it tried all. */
async function passQueue(cluster: Cluster, question: Manifest): Promise<void> {
  const text = JSON.stringify(question);
  const [, priorityClassName] = /"priorityClassName":"([^"]+)"/.exec(text) ?? [];
  const container = { name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'Never' };
  const spec = { priorityClassName, containers: [container], tolerations: [{ operator: 'Exists' }], terminationGracePeriodSeconds: 1 };
  const path = `/api/v1/namespaces/${ASKED}/pods`;
  await cluster.api.create(path, { metadata: { name: PROBE }, spec });
  await eventually('the probe to have a node', async () => {
    const pod = await cluster.api.get(`${path}/${PROBE}`);
    return pod?.spec?.nodeName === undefined ? null : true;
  });
}

/** The uid of the pod for which each victim was evicted: the scheduler's event names it. */
async function preemptorsOf(cluster: Cluster, victims: readonly string[]): Promise<ReadonlyMap<string, string>> {
  return eventually('an event about each eviction', async () => {
    const events = (await cluster.api.list(`/api/v1/namespaces/${RUNNING}/events`)) as unknown as readonly SchedulingEvent[];
    const found = new Map<string, string>();
    for (const { reason, message, involvedObject } of events) {
      const [, uid] = /^Preempted by pod (\S+) on node /.exec(message) ?? [];
      if (reason === 'Preempted' && uid !== undefined) found.set(`${RUNNING}/${involvedObject.name}`, uid);
    }
    return victims.every((pod) => found.has(pod)) ? found : null;
  });
}

/** The first FailedScheduling event of each pod, by its uid. */
async function firstMessages(cluster: Cluster): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, { readonly at: string; readonly message: string }>();
  const events = (await cluster.api.list(`/api/v1/namespaces/${ASKED}/events`)) as unknown as readonly SchedulingEvent[];
  for (const { reason, message, involvedObject, metadata } of events) {
    if (reason !== 'FailedScheduling') continue;
    const known = found.get(involvedObject.uid);
    if (known === undefined || metadata.creationTimestamp < known.at)
      found.set(involvedObject.uid, { at: metadata.creationTimestamp, message });
  }
  return new Map([...found].map(([uid, { message }]) => [uid, message]));
}

interface SchedulingEvent {
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly uid: string; readonly name: string };
  readonly metadata: { readonly creationTimestamp: string };
}

export async function setNode(
  cluster: Cluster,
  { name, gpus, labels, taints, unschedulable }: SmallCluster['nodes'][number],
): Promise<void> {
  const path = `${NODES}/${name}`;
  await cluster.api.patch(path, { metadata: { labels }, spec: { taints, unschedulable } });
  await cluster.api.patch(`${path}/status`, { status: { capacity: { [GPU]: String(gpus) } } });
  await eventually(`${name} to offer ${gpus} GPUs`, async () => {
    const node = await cluster.api.get(path);
    const isTainted = (node?.spec?.taints ?? []).some(({ key }: { readonly key: string }) => key.endsWith('unschedulable'));
    return node?.status?.allocatable?.[GPU] === String(gpus) && isTainted === unschedulable ? true : null;
  });
}

async function create(cluster: Cluster, manifest: Manifest): Promise<void> {
  const [group = '', plural = ''] = (PLURALS[manifest.kind] ?? '').split(' ');
  await cluster.api.create(`${group}/namespaces/${manifest.metadata.namespace}/${plural}`, manifest);
}

/** Waits until all pods of all waves run or are refused, and the budgets have counted them. */
async function whenSettled(cluster: Cluster, wave: readonly Manifest[]): Promise<void> {
  await eventually('the pods that run to settle', async () => {
    const pods = await cluster.api.list(`/api/v1/namespaces/${RUNNING}/pods`);
    const isStill = pods.every(
      (pod) => pod.metadata.deletionTimestamp === undefined && (pod.status?.phase === 'Running' || isRefused(pod)),
    );
    const names = pods.map(({ metadata }) => metadata.labels?.['app']);
    // A pod without a controller may have been evicted by a pod of its own wave.
    const made = wave.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
    const areThere = made.every((each) => names.filter((name) => name === each.metadata.name).length === replicasOf(each));
    return isStill && areThere && (await areCounted(cluster, pods)) ? true : null;
  });
}

function replicasOf({ spec }: Manifest): number {
  const { replicas, parallelism } = spec as { readonly replicas?: number; readonly parallelism?: number };
  return replicas ?? parallelism ?? 1;
}

async function areCounted(cluster: Cluster, pods: readonly KubeObject[]): Promise<boolean> {
  const budgets = await cluster.api.list(`/apis/policy/v1/namespaces/${RUNNING}/poddisruptionbudgets`);
  return budgets.every(({ spec, status }) => {
    const app = String(spec?.selector?.matchLabels?.app);
    const own = pods.filter(({ metadata }) => metadata.labels?.['app'] === app);
    const healthy = own.filter((pod) => conditionsOf(pod.status).some(({ type, ...rest }) => type === 'Ready' && isTrue(rest))).length;
    return status?.expectedPods === own.length && status?.currentHealthy === healthy;
  });
}

function isTrue(condition: object): boolean {
  return 'status' in condition && condition.status === 'True';
}

/** Removes all pods and what makes them, and waits until the kubelets have ended them. */
export async function clear(cluster: Cluster): Promise<void> {
  const namespaces = [RUNNING, ASKED];
  for (const namespace of namespaces)
    for (const kind of ['Deployment', 'Job', 'PodDisruptionBudget', 'Pod']) {
      const [group = '', plural = ''] = (PLURALS[kind] ?? '').split(' ');
      const query = kind === 'Pod' ? 'gracePeriodSeconds=1' : 'propagationPolicy=Background';
      await cluster.api.remove(`${group}/namespaces/${namespace}/${plural}?${query}`);
    }
  await eventually('all pods to be gone', async () => {
    const left = await Promise.all(namespaces.map((namespace) => cluster.api.list(`/api/v1/namespaces/${namespace}/pods`)));
    if (left.flat().length === 0) return true;
    // A controller may have made one more meanwhile.
    for (const namespace of namespaces) await cluster.api.remove(`/api/v1/namespaces/${namespace}/pods?gracePeriodSeconds=1`);
    return null;
  });
  for (const namespace of namespaces) await cluster.api.remove(`/api/v1/namespaces/${namespace}/events`);
}
