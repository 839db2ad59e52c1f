import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import type { Cause, HoldingRun } from './cause.ts';
import { whenEnded, whenGone, whenHolding, withJob } from './held-run.ts';
import { type Attempt, attemptsIn } from './attempt.ts';
import { JOBS, podsOf, trueConditions } from './objects.ts';
import type { Manner, TrainingJob } from './training-job.ts';

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
  /** How many of its pods the Job counts as failures. */
  readonly failures: number;
  /** Nothing of the Job was left in the end. */
  readonly isJobGone: boolean;
  /** What the ledger says of the attempt that was interrupted; null where nobody keeps one. */
  readonly ledger: Attempt | null;
  /** What was said of the attempt that came to the end of the training, by the ledger and by the message of its container; null when there was none. */
  readonly last: { readonly ledger: Attempt | null; readonly message: string } | null;
  /** The program that has started the trainer, as that saw it; null where nobody but the container did. */
  readonly supervisor: string | null;
  /** What a finished run has written; null when the training was never finished. */
  readonly result: string | null;
}

export interface Place {
  /** The nodes that it may go to. */
  readonly pool: string;
  readonly manner: Manner;
  /** Called when it holds, before it is interrupted. */
  readonly whenReady?: () => Promise<void>;
}

export function jobFor({ name, jobSpec, podSpec, annotations, tmpLimit }: Cause, manner: Manner, pool: string): TrainingJob {
  return { name: `${name}-${manner}`, manner, pool, jobSpec, podSpec, annotations, tmpLimit };
}

/** Starts a training Job, interrupts it once while it holds at its step, lets it go on, and tells how it ended. */
export async function interruptedRun(cluster: Cluster, cause: Cause, { pool, manner, whenReady }: Place): Promise<Outcome> {
  const wish = jobFor(cause, manner, pool);
  return withJob(cluster, wish, async (shared) => {
    const run = await whenHolding(cluster, wish, shared);
    await whenReady?.();
    await cause.interrupt(run);
    const ended = await whenEnded(run, !cause.exitCodes.includes(null));
    writeFileSync(join(shared, 'go'), '');
    await cause.relieve(run);
    const outcome = await wholeStory(run, ended);
    const isJobGone = cause.jobSpec?.['ttlSecondsAfterFinished'] === 0;
    if (isJobGone) await whenGone(cluster, wish.name);
    return { ...outcome, isJobGone };
  });
}

/** Waits for the end of the Job; tells what became of its first pod, and how it went on. */
export async function wholeStory(
  { cluster, job, node, shared }: Omit<HoldingRun, 'pod' | 'manner'>,
  first: KubeObject,
): Promise<Omit<Outcome, 'isJobGone'>> {
  const [word, failures] = await eventually(`the end of the Job ${job}`, async () => lastWord(await cluster.api.get(`${JOBS}/${job}`)));
  const { uid } = first.metadata;
  const finished = (await podsOf(cluster, job)).find(({ status }) => status.phase === 'Succeeded');
  const next = finished?.metadata.uid === uid ? undefined : finished;
  const nextNode = next === undefined ? null : String(next.spec.nodeName);
  const resumedWith = next === undefined ? null : lastStart(shared);
  const attempts = attemptsIn(join(shared, 'run'));
  return {
    ...told(first),
    firstNode: node,
    nextNode,
    resumedWith,
    job: word,
    failures,
    ledger: attempts?.first ?? null,
    last: finished === undefined ? null : { ledger: attempts?.last ?? null, message: told(finished).message },
    supervisor: textIn(join(shared, 'supervisor')),
    result: textIn(join(shared, 'result')),
  };
}

function lastStart(shared: string): number | null {
  const last = textIn(join(shared, 'starts'))?.split('\n').at(-1);
  return last === undefined ? null : Number(last);
}

function textIn(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
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

function lastWord(job: KubeObject | null): readonly [string, number] | null {
  const word = trueConditions(job).find(({ type }) => type === 'Complete' || type === 'Failed')?.type;
  return word === undefined ? null : [word, Number(job?.status?.failed ?? 0)];
}
