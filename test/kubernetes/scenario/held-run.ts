import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import type { HoldingRun } from './cause.ts';
import { runsOf } from './example.ts';
import { JOBS, PODS, podsOf } from './objects.ts';
import { tellingState } from './state.ts';
import { FINALIZER, type Job, type TrainingJob, isSupervised, trainingJob } from './training-job.ts';

/** The last save before the trainer waits. The supervisor seals it in the background. */
const LAST_SAVE = 'run/step-400';

/** Makes a Job for `use`, and removes it and its pods afterwards. */
export async function withJob<Value>(cluster: Cluster, wish: TrainingJob, use: (shared: string) => Promise<Value>): Promise<Value> {
  const { name } = wish;
  return withManifest(cluster, { name, manifest: trainingJob(wish), shared: sharedFolder(cluster, name) }, use);
}

interface NamedJob {
  readonly name: string;
  readonly manifest: Job;
  /** The folder from `sharedFolder`. */
  readonly shared: string;
}

/** The same for an existing manifest of a Job. */
export async function withManifest<Value>(
  cluster: Cluster,
  { name, manifest, shared }: NamedJob,
  use: (shared: string) => Promise<Value>,
): Promise<Value> {
  await cluster.api.create(JOBS, manifest);
  try {
    const value = await tellingState(cluster, () => use(shared));
    await tellingState(cluster, () => clearAway(cluster, name));
    return value;
  } catch (thrown) {
    // Report the first error.
    await clearAway(cluster, name).catch(() => {});
    throw thrown;
  }
}

/** A folder that the pods of a run share with the test; pods and test are different users. */
export function sharedFolder(cluster: Cluster, name: string): string {
  const shared = join(runsOf(cluster), name);
  mkdirSync(shared);
  chmodSync(shared, 0o777);
  return shared;
}

/** Waits until the Job's first pod waits at its step, with every earlier save sealed. */
export async function whenHolding(cluster: Cluster, { name: job, manner }: TrainingJob, shared: string): Promise<HoldingRun> {
  const { metadata, spec } = await eventually(`a pod of ${job} that holds`, () => holdingPod(cluster, job));
  if (isSupervised(manner)) await eventually(`the last checkpoint of ${job}`, () => (existsSync(join(shared, LAST_SAVE)) ? true : null));
  return { cluster, job, pod: metadata.name, node: String(spec.nodeName), shared, manner };
}

/** Waits for the end of a pod. If its node is gone, the end of its container stays unknown. */
export function whenEnded({ cluster, pod }: HoldingRun, isContainerTold: boolean): Promise<KubeObject> {
  return eventually(`the end of ${pod}`, async () => {
    const found = await cluster.api.get(`${PODS}/${pod}`);
    if (found === null) throw new Error(`${pod} vanished before it was looked at`);
    const hasContainerEnded = !isContainerTold || found.status?.containerStatuses?.[0]?.state?.terminated !== undefined;
    return hasContainerEnded && isOver(found) ? found : null;
  });
}

/** Waits until the Job has removed itself, and releases its last pods. */
export async function whenGone(cluster: Cluster, job: string): Promise<void> {
  await eventually(`${job} to be gone by itself`, async () => {
    await letGoOfAll(cluster, job);
    return (await cluster.api.get(`${JOBS}/${job}`)) === null ? true : null;
  });
}

export function isOver({ status }: KubeObject): boolean {
  return /^(Succeeded|Failed)$/.test(String(status?.phase));
}

export async function holdingPod(cluster: Cluster, job: string): Promise<KubeObject | null> {
  const [pod] = await podsOf(cluster, job);
  if (pod === undefined) return null;
  const { name } = pod.metadata;
  const log = await cluster.api.text(`${PODS}/${name}/log`);
  if (isOver(pod)) throw new Error(`${name} ended before it was interrupted: ${JSON.stringify(pod.status)}\n${log}`);
  return pod.status?.phase === 'Running' && log?.includes('holding\n') === true ? pod : null;
}

async function clearAway(cluster: Cluster, job: string): Promise<void> {
  await cluster.api.remove(`${JOBS}/${job}?propagationPolicy=Background`);
  await eventually(`the pods of ${job} to be gone`, async () => ((await letGoOfAll(cluster, job)) === 0 ? true : null));
}

/** Releases all pods of a Job and returns how many there were. */
export async function letGoOfAll(cluster: Cluster, job: string): Promise<number> {
  const pods = await podsOf(cluster, job);
  for (const { metadata } of pods) await letGo(cluster, metadata.name);
  return pods.length;
}

/** Removes our finalizer. Finalizers of others stay. */
async function letGo(cluster: Cluster, pod: string): Promise<void> {
  const finalizers = (await cluster.api.get(`${PODS}/${pod}`))?.metadata.finalizers ?? [];
  const index = finalizers.indexOf(FINALIZER);
  if (index < 0) return;
  const path = `/metadata/finalizers/${index}`;
  const changes = [
    { op: 'test', path, value: FINALIZER },
    { op: 'remove', path },
  ];
  // The API refuses the write if another write came first: try again.
  await cluster.api.patch(`${PODS}/${pod}`, changes, 'json').catch(() => null);
}
