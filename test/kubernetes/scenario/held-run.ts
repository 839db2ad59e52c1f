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

/** What a supervised run has sealed when it holds: that happens behind the trainer. */
const LAST_SAVE = 'run/step-400';

/** Makes a Job, and takes it and its pods away again when all is done with it. */
export async function withJob<Value>(cluster: Cluster, wish: TrainingJob, use: (shared: string) => Promise<Value>): Promise<Value> {
  const { name } = wish;
  return withManifest(cluster, { name, manifest: trainingJob(wish), shared: sharedFolder(cluster, name) }, use);
}

interface NamedJob {
  readonly name: string;
  readonly manifest: Job;
  /** What `sharedFolder` gave for it. */
  readonly shared: string;
}

/** The same with a Job that is there. */
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
    // What went wrong first is what is told.
    await clearAway(cluster, name).catch(() => {});
    throw thrown;
  }
}

/** The folder that a run's pods share with the test, which is not their user. */
export function sharedFolder(cluster: Cluster, name: string): string {
  const shared = join(runsOf(cluster), name);
  mkdirSync(shared);
  chmodSync(shared, 0o777);
  return shared;
}

/** Waits until the first pod of the Job holds at its step, with all saved that it was to save. */
export async function whenHolding(cluster: Cluster, { name: job, manner }: TrainingJob, shared: string): Promise<HoldingRun> {
  const { metadata, spec } = await eventually(`a pod of ${job} that holds`, () => holdingPod(cluster, job));
  if (isSupervised(manner)) await eventually(`the last checkpoint of ${job}`, () => (existsSync(join(shared, LAST_SAVE)) ? true : null));
  return { cluster, job, pod: metadata.name, node: String(spec.nodeName), shared, manner };
}

/** Waits for the end of a pod; of one whose node is gone nobody tells how its container ended. */
export function whenEnded({ cluster, pod }: HoldingRun, isContainerTold: boolean): Promise<KubeObject> {
  return eventually(`the end of ${pod}`, async () => {
    const found = await cluster.api.get(`${PODS}/${pod}`);
    if (found === null) throw new Error(`${pod} vanished before it was looked at`);
    const hasContainerEnded = !isContainerTold || found.status?.containerStatuses?.[0]?.state?.terminated !== undefined;
    return hasContainerEnded && isOver(found) ? found : null;
  });
}

/** Waits for the last pods of a Job that goes by itself, letting go of them. */
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

/** How many there still were. */
export async function letGoOfAll(cluster: Cluster, job: string): Promise<number> {
  const pods = await podsOf(cluster, job);
  for (const { metadata } of pods) await letGo(cluster, metadata.name);
  return pods.length;
}

/** Takes our finalizer off; other ones are not ours to take. */
async function letGo(cluster: Cluster, pod: string): Promise<void> {
  const finalizers = (await cluster.api.get(`${PODS}/${pod}`))?.metadata.finalizers ?? [];
  const index = finalizers.indexOf(FINALIZER);
  if (index < 0) return;
  const path = `/metadata/finalizers/${index}`;
  const changes = [
    { op: 'test', path, value: FINALIZER },
    { op: 'remove', path },
  ];
  // Refused when somebody was quicker: then it is tried again.
  await cluster.api.patch(`${PODS}/${pod}`, changes, 'json').catch(() => null);
}
