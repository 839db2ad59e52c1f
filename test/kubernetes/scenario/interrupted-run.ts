import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import type { Cause } from './causes.ts';
import { JOBS, PODS, podsOf, trueConditions } from './objects.ts';
import { FINALIZER, type Manner, trainingJob } from './training-job.ts';

/** What a supervised run has sealed when it holds: that happens behind the trainer. */
const LAST_SAVE = 'run/step-100';

/** What Kubernetes recorded about a run that was interrupted once, and what became of the run. */
export interface Outcome {
  readonly phase: string;
  readonly exitCode: number | null;
  /** Of the container: `OOMKilled`, `Error`, `Completed`. */
  readonly containerReason: string;
  /** Of the pod: `Evicted`. */
  readonly podReason: string | null;
  /** Why it was disrupted, as the pod's condition says. */
  readonly disruption: string | null;
  readonly message: string;
  readonly firstNode: string;
  /** Where it went on; null when it never did. */
  readonly nextNode: string | null;
  /** With which step it went on; null likewise. */
  readonly resumedWith: number | null;
  /** The Job's last word: `Complete` or `Failed`. */
  readonly job: string;
  /** What a finished run has written; null when the training was never finished. */
  readonly result: string | null;
}

/** Starts a training Job, interrupts it once while it holds at its step, lets it go on, and tells how it ended. */
export async function interruptedRun(cluster: Cluster, cause: Cause, manner: Manner): Promise<Outcome> {
  const job = `${cause.name}-${manner}`;
  const shared = join(cluster.shared, job);
  mkdirSync(shared);
  await cluster.api.create(JOBS, trainingJob({ name: job, manner, shared }));
  try {
    const first = await eventually(`a pod of ${job} that holds`, () => holdingPod(cluster, job));
    if (manner === 'holdfast') await eventually(`the last checkpoint of ${job}`, () => (existsSync(join(shared, LAST_SAVE)) ? true : null));
    const { name: pod, uid } = first.metadata;
    const node = String(first.spec.nodeName);
    const run = { cluster, job, pod, node, shared };
    await cause.interrupt(run);
    const ended = await eventually(`the end of ${pod}`, async () => endedPod(await cluster.api.get(`${PODS}/${pod}`)));
    writeFileSync(join(shared, 'go'), '');
    await cause.relieve(run);
    const word = await eventually(`the end of the Job ${job}`, async () => lastWord(await cluster.api.get(`${JOBS}/${job}`)));
    const next = (await podsOf(cluster, job)).find(({ metadata, status }) => metadata.uid !== uid && status.phase === 'Succeeded') ?? null;
    return { ...told(ended), ...(await goingOn(cluster, next)), firstNode: node, job: word, result: resultOf(shared) };
  } finally {
    await clearAway(cluster, job);
  }
}

function told(pod: KubeObject): Pick<Outcome, 'phase' | 'exitCode' | 'containerReason' | 'podReason' | 'disruption' | 'message'> {
  const { phase, reason, containerStatuses = [] } = pod.status;
  const terminated = containerStatuses[0]?.state?.terminated ?? {};
  return {
    phase: String(phase),
    exitCode: typeof terminated.exitCode === 'number' ? terminated.exitCode : null,
    containerReason: String(terminated.reason ?? ''),
    podReason: typeof reason === 'string' ? reason : null,
    disruption: trueConditions(pod).find(({ type }) => type === 'DisruptionTarget')?.reason ?? null,
    message: String(terminated.message ?? ''),
  };
}

async function goingOn(cluster: Cluster, next: KubeObject | null): Promise<Pick<Outcome, 'nextNode' | 'resumedWith'>> {
  if (next === null) return { nextNode: null, resumedWith: null };
  const log = await cluster.api.text(`${PODS}/${next.metadata.name}/log`);
  const step = log?.match(/^from step (\d+)$/m)?.[1];
  return { nextNode: String(next.spec.nodeName), resumedWith: step === undefined ? null : Number(step) };
}

function lastWord(job: KubeObject | null): string | null {
  return trueConditions(job).find(({ type }) => type === 'Complete' || type === 'Failed')?.type ?? null;
}

function resultOf(shared: string): string | null {
  const path = join(shared, 'result');
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}

async function holdingPod(cluster: Cluster, job: string): Promise<KubeObject | null> {
  const [pod] = await podsOf(cluster, job);
  if (pod === undefined) return null;
  const { name } = pod.metadata;
  const log = await cluster.api.text(`${PODS}/${name}/log`);
  if (/^(Succeeded|Failed)$/.test(String(pod.status?.phase)))
    throw new Error(`${name} ended before it was interrupted: ${JSON.stringify(pod.status)}\n${log}`);
  return pod.status?.phase === 'Running' && log?.includes('holding\n') === true ? pod : null;
}

function endedPod(pod: KubeObject | null): KubeObject | null {
  if (pod === null) throw new Error('the pod vanished before it was looked at');
  const hasEnded = pod.status?.containerStatuses?.[0]?.state?.terminated !== undefined;
  return hasEnded && /^(Succeeded|Failed)$/.test(String(pod.status.phase)) ? pod : null;
}

async function clearAway(cluster: Cluster, job: string): Promise<void> {
  await cluster.api.remove(`${JOBS}/${job}?propagationPolicy=Background`);
  await eventually(`the pods of ${job} to be gone`, async () => {
    const pods = await podsOf(cluster, job);
    for (const { metadata } of pods) await letGo(cluster, metadata.name);
    return pods.length === 0 ? true : null;
  });
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
