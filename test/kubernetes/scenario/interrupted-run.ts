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

/** What Kubernetes recorded about a run that was interrupted once, and how the run ended. */
export interface Outcome {
  readonly phase: string;
  readonly exitCode: number | null;
  /** The reason of the container's end: `OOMKilled`, `Error`, `Completed`. */
  readonly containerReason: string;
  /** The reason of the pod's end: `Evicted`. */
  readonly podReason: string | null;
  /** The reason of the pod's condition `DisruptionTarget`. */
  readonly disruption: string | null;
  readonly message: string;
  readonly firstNode: string;
  /** The node on which the run resumed; null when it never did. */
  readonly nextNode: string | null;
  /** The step from which the run resumed; null when it never did. */
  readonly resumedWith: number | null;
  /** The Job's final condition: `Complete` or `Failed`. */
  readonly job: string;
  /** How many of its pods the Job counts as failures. */
  readonly failures: number;
  /** Whether nothing of the Job is left at the end. */
  readonly isJobGone: boolean;
  /** The ledger's records of the interrupted attempt; null without a ledger. */
  readonly ledger: Attempt | null;
  /**
   * The records of the attempt that finished the training: its ledger, and its container's
   * termination message. Null when there was none.
   */
  readonly last: { readonly ledger: Attempt | null; readonly message: string } | null;
  /**
   * The program that started the trainer, as the trainer saw it; null where the container started
   * it directly.
   */
  readonly supervisor: string | null;
  /** The result that a finished run has written; null when the training never finished. */
  readonly result: string | null;
}

export interface Place {
  /** The label of the nodes that it may use. */
  readonly pool: string;
  readonly manner: Manner;
  /** Called when the run waits at its step, before the interruption. */
  readonly whenReady?: () => Promise<void>;
}

export function jobFor({ name, jobSpec, podSpec, annotations, tmpLimit }: Cause, manner: Manner, pool: string): TrainingJob {
  return { name: `${name}-${manner}`, manner, pool, jobSpec, podSpec, annotations, tmpLimit };
}

/**
 * Starts a training Job, interrupts it once while it waits at its step, lets it continue, and
 * reports how it ended.
 */
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

/** Waits for the end of the Job, and reports the end of its first pod and how the run resumed. */
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
