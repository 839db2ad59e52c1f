import { eventually } from '../cluster/wait.ts';
import type { KubeObject } from '../cluster/api.ts';
import { jobPath, podsOf, type Side } from './snapshot.ts';

/** What happens to a job, its pods or its trainers. A pod is named without the name of its job. */
export type Action =
  | readonly ['run', ...pods: readonly string[]]
  | readonly ['exit', pod: string, code: number]
  | readonly ['restart in place', pod: string, times: number]
  | readonly ['vanish', pod: string]
  | readonly ['delete', pod: string]
  | readonly ['suspend', isSuspended: boolean]
  | readonly ['scale', workers: number]
  | readonly ['deadline in', seconds: number]
  | readonly ['touch']
  | readonly ['nothing'];

/** The job that an action is about. */
export interface Subject {
  readonly kind: string;
  readonly name: string;
}

const CONTAINERS: Readonly<Record<string, string>> = { PyTorchJob: 'pytorch', TFJob: 'tensorflow' };
/** A node without a kubelet: the test ends its pods. */
const NODE = 'played';

/** Adds the node that the played kubelet stands for. Start the cluster with {@link PATIENT}. */
export async function createPlayedNode({ cluster: { api } }: Pick<Side, 'cluster'>): Promise<void> {
  await api.create('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
  await api.patch(`/api/v1/nodes/${NODE}/status`, { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
}

/** Timers of the controller manager, by which a node that never reports is not lost. */
export const PATIENT = { 'node-monitor-grace-period': '24h' };

/** Lets it happen under one operator; waits for the pods that it needs. */
export async function act(side: Side, subject: Subject, action: Action): Promise<void> {
  const { cluster } = side;
  const { kind, name } = subject;
  const job = jobPath(side, kind, name);
  const [verb, ...words] = action;
  const pod = (): Promise<string> => podPath(side, subject, String(words[0]));
  switch (verb) {
    case 'run':
      return runPods(side, subject, words as readonly string[]);
    case 'exit':
      return exit(side, subject, await pod(), Number(words[1]));
    case 'restart in place':
      return void (await setStatus(side, await pod(), { containerStatuses: [containerStatus(kind, { running: {} }, Number(words[1]))] }));
    case 'vanish':
      return cluster.api.remove(`${await pod()}?gracePeriodSeconds=0`);
    case 'delete':
      return cluster.api.remove(await pod());
    case 'suspend':
      return void (await cluster.api.patch(job, { spec: { runPolicy: { suspend: words[0] } } }));
    case 'scale':
      return void (await cluster.api.patch(`${job}/scale`, { spec: { replicas: words[0] } }));
    case 'deadline in':
      return setDeadline(side, subject, Number(words[0]));
    case 'touch':
      return void (await cluster.api.patch(job, { metadata: { annotations: { 'holdfast.test/touched': 'true' } } }));
    case 'nothing':
  }
}

/** The pods that the kubelets would start: these, or all. */
async function runPods(side: Side, subject: Subject, names: readonly string[]): Promise<void> {
  const wanted = names.map((each) => `${subject.name}-${each}`);
  for (const { metadata, status } of await podsOf(side, subject.name)) {
    const isPending = status?.phase === 'Pending' && metadata.deletionTimestamp === undefined;
    if (!isPending || (wanted.length > 0 && !wanted.includes(metadata.name))) continue;
    const path = podAt(side, metadata.name);
    try {
      await start(side, subject, metadata.name);
    } catch (thrown) {
      // The operator may just have deleted it, and the kubelets look again.
      if ((await side.cluster.api.get(path)) !== null) throw thrown;
    }
  }
}

/** Binds a pod to the played node; no scheduler would. */
export async function bind({ cluster }: Pick<Side, 'cluster'>, path: string, name: string): Promise<void> {
  const target = { kind: 'Node', name: NODE };
  await cluster.api.create(`${path}/binding`, { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target });
}

async function start(side: Side, { kind }: Subject, name: string): Promise<void> {
  const path = podAt(side, name);
  await bind(side, path, name);
  await setStatus(side, path, { phase: 'Running', containerStatuses: [containerStatus(kind, { running: {} })] });
}

/** The pod of a name, once it is there and not on its way out. */
async function podPath(side: Side, { name }: Subject, pod: string): Promise<string> {
  const path = podAt(side, `${name}-${pod}`);
  await eventually(`the pod ${name}-${pod}`, async () => {
    const found = await side.cluster.api.get(path);
    return found === null || found.metadata.deletionTimestamp !== undefined ? null : found;
  });
  return path;
}

/** Gives the job a deadline that is so many seconds away. */
async function setDeadline(side: Side, { kind, name }: Subject, seconds: number): Promise<void> {
  const path = jobPath(side, kind, name);
  const startMs = Date.parse(String((await side.cluster.api.get(path))?.status?.startTime));
  const activeDeadlineSeconds = Math.ceil((Date.now() - startMs) / 1000) + seconds;
  await side.cluster.api.patch(path, { spec: { runPolicy: { activeDeadlineSeconds } } });
}

async function exit(side: Side, { kind }: Subject, path: string, exitCode: number): Promise<void> {
  const terminated = {
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    finishedAt: new Date().toISOString().replace(/\.\d+/, ''),
  };
  await setStatus(side, path, {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    containerStatuses: [containerStatus(kind, { terminated })],
  });
}

function containerStatus(kind: string, state: unknown, restartCount = 0): unknown {
  return { name: CONTAINERS[kind], state, restartCount, image: 'i', imageID: 'i', ready: false };
}

function setStatus({ cluster }: Side, path: string, status: unknown): Promise<KubeObject> {
  return cluster.api.patch(`${path}/status`, { status });
}

/** Ends the pods that are being deleted, but this one: its trainer takes its time. */
export async function endDeleted(side: Side, { name }: Subject, but: string | null): Promise<void> {
  for (const { metadata } of await podsOf(side, name)) {
    if (metadata.deletionTimestamp === undefined || metadata.name === `${name}-${but}`) continue;
    await side.cluster.api.remove(`${podAt(side, metadata.name)}?gracePeriodSeconds=0`);
  }
}

function podAt({ namespace }: Side, pod: string): string {
  return `/api/v1/namespaces/${namespace}/pods/${pod}`;
}
