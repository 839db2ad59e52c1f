import { createInterface } from 'node:readline';
import { realClock } from '../../../src/core/clock.ts';
import { createRng } from '../../../src/core/rng.ts';
import { type ApiObject, keyFromText, keyOf, keyText } from '../../../src/kube/api/api-object.ts';
import { PODS } from '../../../src/kube/api/resources.ts';
import { openCluster } from '../../../src/kube/client/open-cluster.ts';
import { RateLimit } from '../../../src/kube/client/rate-limit.ts';
import { ServerApi } from '../../../src/kube/client/server-api.ts';
import { type Reconciled, runController } from '../../../src/kube/control/controller.ts';
import { WorkQueue } from '../../../src/kube/control/work-queue.ts';
import { textAt } from '../../../src/kube/objects/fields.ts';
import { Reflector } from '../../../src/kube/watch/reflector.ts';
import { Store, type StoreChange } from '../../../src/kube/watch/store.ts';
import type { Blow, KubeletAnswer, KubeletOrder } from './kubelets-process.ts';

/**
 * `kubelets.ts KUBECONFIG`: does what kubelets do with pods that have a node, without a wait:
 * pods that wait run, and pods that are being deleted are gone. Each line of standard input is an
 * order, which strikes pods and then waits; the answers come as lines in the same order.
 */
const WORKERS = 20;
/** How often it looks whether all pods run; no figure depends on it. */
const CALM_PAUSE_MS = 50;
const UNLIMITED = { perSecond: 1e6, burst: 1e6 };
const JOBS = { group: 'kubeflow.org', version: 'v1', plural: 'pytorchjobs', kind: 'PyTorchJob', isNamespaced: true };

const [kubeconfig = ''] = process.argv.slice(2);
const { signal } = new AbortController();
const clock = realClock;
const { transport } = await openCluster({ kubeconfig, context: null, clock, signal });
const api = new ServerApi(transport, new RateLimit(UNLIMITED, clock));
const rng = createRng(1);
const queue = new WorkQueue({ clock, rng });
const store = new Store();
/** Called with every change, by the orders that wait. */
const waiting = new Set<(change: StoreChange) => void>();

const trim = ({ apiVersion, kind, metadata, spec, status }: ApiObject): ApiObject => ({
  apiVersion,
  kind,
  metadata,
  spec: { nodeName: textAt(spec, 'nodeName') },
  status: { phase: textAt(status, 'phase') },
});

function onChange(change: StoreChange): void {
  if (change.after !== null) queue.add(keyText(keyOf(change.after)));
  for (const hear of waiting) hear(change);
}

/** What the kubelet of a pod does next. */
async function attend(key: string): Promise<Reconciled> {
  const pod = store.get(keyFromText(key));
  if (pod === null || textAt(pod, 'spec', 'nodeName') === null) return { kind: 'settled' };
  const { uid, deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  if (deletionTimestamp === undefined && textAt(pod, 'status', 'phase') !== 'Pending') return { kind: 'settled' };
  if (deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0) return { kind: 'settled' };
  const outcome =
    deletionTimestamp === undefined
      ? await api.patch(PODS, keyOf(pod), { status: { phase: 'Running' } }, { signal, subresource: 'status' })
      : await api.delete(PODS, keyOf(pod), { signal, uid, graceSeconds: 0 });
  if (outcome.ok || outcome.kind === 'notFound' || outcome.kind === 'conflict') return { kind: 'settled' };
  return { kind: 'retry', reason: outcome.message };
}

function podsIn(namespace: string): readonly ApiObject[] {
  return [...store.all()].filter(({ metadata }) => metadata.namespace === namespace);
}

/** Waits for the changes after which the question has an answer. */
function whenever<Answer>(ask: (change: StoreChange | null) => Answer | null): Promise<Answer> {
  return new Promise((resolve) => {
    const hear = (change: StoreChange | null): void => {
      const answer = ask(change);
      if (answer === null) return;
      waiting.delete(hear);
      resolve(answer);
    };
    waiting.add(hear);
    hear(null);
  });
}

/** When each group has as many new pods as it should; a pod that goes already is none. */
function whenRecreated({ namespace, groupLabel, groups, each }: KubeletOrder, old: ReadonlySet<string>): Promise<readonly number[]> {
  const found = new Map<string, Set<string>>();
  const times: number[] = [];
  const note = ({ metadata }: ApiObject): void => {
    if (metadata.namespace !== namespace || metadata.deletionTimestamp !== undefined || old.has(metadata.uid)) return;
    const group = groupLabel === null ? '' : (metadata.labels?.[groupLabel] ?? '');
    const pods = found.get(group) ?? new Set();
    found.set(group, pods);
    if (pods.size === each) return;
    pods.add(metadata.uid);
    if (pods.size === each) times.push(performance.now());
  };
  return whenever((change) => {
    if (change === null) for (const pod of podsIn(namespace)) note(pod);
    else if (change.after !== null) note(change.after);
    return times.length === groups ? times : null;
  });
}

/** Waits until as many pods of a namespace run as it should have, and no other is left there. */
async function whenCalm({ namespace, all }: KubeletOrder): Promise<void> {
  for (;;) {
    const pods = podsIn(namespace);
    const runs = ({ metadata, ...pod }: ApiObject): boolean =>
      metadata.deletionTimestamp === undefined && textAt(pod, 'status', 'phase') === 'Running';
    if (pods.length === all && pods.every(runs)) return;
    await clock.sleep(CALM_PAUSE_MS, { signal });
  }
}

async function strike(namespace: string, blow: Blow): Promise<void> {
  if (blow.kind === 'delete')
    await Promise.all(blow.pods.map((name) => api.delete(PODS, { namespace, name }, { signal, graceSeconds: 0 })));
  if (blow.kind === 'fail') {
    const [first] = podsIn(namespace);
    if (first === undefined) throw new Error(`no pod in ${namespace}`);
    await api.patch(PODS, keyOf(first), { status: { phase: 'Failed' } }, { signal, subresource: 'status' });
  }
  if (blow.kind === 'suspend') {
    const set = (suspend: boolean): Promise<unknown> =>
      api.patch(JOBS, { namespace, name: blow.job }, { spec: { runPolicy: { suspend } } }, { signal });
    await set(true);
    await whenever(() => (podsIn(namespace).length === 0 ? true : null));
    await set(false);
  }
}

async function obey(order: KubeletOrder): Promise<KubeletAnswer> {
  const beganMs = performance.now();
  const old = new Set(order.blow === null ? [] : podsIn(order.namespace).map(({ metadata }) => metadata.uid));
  const recreated = whenRecreated(order, old);
  if (order.blow !== null) await strike(order.namespace, order.blow);
  const times = await recreated;
  await whenCalm(order);
  const at = (ms: number): number => performance.timeOrigin + ms;
  return { beganMs: at(beganMs), recreatedMs: times.map(at), calmMs: at(performance.now()) };
}

const reflector = new Reflector({
  api,
  resource: PODS,
  selection: { namespace: null },
  store,
  trim,
  onChange,
  onTrouble: ({ message }) => process.stderr.write(`${message}\n`),
  clock,
  rng,
});
void reflector.run({ signal });
void runController({ queue, reconcile: attend, workers: WORKERS, onOutcome: () => undefined }, signal);
await reflector.synced;
for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await obey(JSON.parse(line) as KubeletOrder))}\n`);
process.exit(0);
