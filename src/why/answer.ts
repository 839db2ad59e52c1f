import { END_CAUSES, type EndCause } from '../domain/causes/catalogue.ts';
import { titleOf } from '../kube/objects/object.ts';
import { trueCondition } from '../kube/objects/condition.ts';
import type { WhyFacts } from './facts/facts.ts';
import type { RecordedAttempt } from './facts/run-records.ts';
import { type Fit, fitOf } from './fit.ts';
import { judge, type Judgement } from './judge.ts';
import { type Loss, lossOf } from './loss.ts';
import { type Setting, settingFor } from './setting.ts';
import { type Moment, timelineOf } from './timeline.ts';

/** The whole answer of `why` about one end. */
export interface Answer {
  /** `pod/train-0 in ml`, or `attempt 3`. */
  readonly subject: string;
  readonly judgement: Judgement;
  /** Kubernetes counts the pod as finished, although an interruption ended it. */
  readonly isUnfinished: boolean;
  readonly unfinishedBecause: string | null;
  readonly atMs: number | null;
  readonly node: string | null;
  readonly pool: string | null;
  readonly loss: Loss | null;
  readonly fit: Fit | null;
  readonly setting: Setting | null;
  readonly timeline: readonly Moment[];
}

/** Judges one end, and adds its cost, its fit and the setting to change. */
export function answerOf(facts: WhyFacts): Answer {
  const judgement = judge(facts);
  const { cause } = judgement;
  const unfinishedBecause = whyUnfinished(judgement, facts);
  const fit = fitOf(cause, facts);
  const loss = hasCost(judgement) ? lossOf(facts) : null;
  const isUnfinished = unfinishedBecause !== null;
  return {
    ...placeOf(facts),
    judgement,
    isUnfinished,
    unfinishedBecause,
    loss,
    fit,
    setting: settingFor({ cause, facts, fit, loss, isUnfinished }),
    timeline: timelineOf(facts),
  };
}

type Place = Pick<Answer, 'subject' | 'atMs' | 'node' | 'pool'>;

function placeOf(facts: WhyFacts): Place {
  const { pod, lane, ended, recorded } = facts;
  const pool = facts.node?.pool ?? null;
  if (pod !== null) return { subject: titleOf(pod.object), atMs: ended?.finishedMs ?? null, node: pod.spec.nodeName, pool };
  if (recorded !== null) return placeOfRecord(recorded, pool);
  return { subject: `attempt ${lane?.attempt ?? ''}`, atMs: lane?.seenMs ?? null, node: lane?.nodes[0] ?? null, pool };
}

function placeOfRecord({ run, attempt, end }: RecordedAttempt, pool: string | null): Place {
  return {
    subject: `attempt ${attempt.number} of ${titleOf(run.object)}`,
    atMs: attempt.detectedAt === null ? null : Date.parse(attempt.detectedAt),
    node: end?.node ?? null,
    pool: pool ?? end?.nodePool ?? null,
  };
}

/** Ends without a cost. What a stopped gang lost counts once, with the pod that was lost. */
const FREE: ReadonlySet<EndCause> = new Set(['FINISHED', 'STILL_RUNNING', 'GANG_STOPPED']);

/**
 * A pod that still runs, or never ran, lost nothing. The loss of a pod that may have finished is
 * unknown.
 */
function hasCost({ cause, candidates }: Judgement): boolean {
  return !candidates.includes('FINISHED') && !FREE.has(cause) && END_CAUSES[cause].family !== 'never-ran';
}

/**
 * Exit code 0 after an interruption counts as a success in Kubernetes, but the run is unfinished.
 * The exception: the trainer itself reported that it finished.
 */
function whyUnfinished({ cause }: Judgement, facts: WhyFacts): string | null {
  const { ended, pod, job } = facts;
  const { family } = END_CAUSES[cause];
  if (ended?.exitCode !== 0 || (family !== 'interruption' && family !== 'limit') || saidFinished(facts)) return null;
  const although =
    cause === 'OUT_OF_MEMORY' || cause === 'NODE_OUT_OF_MEMORY'
      ? 'although the kernel killed one of its processes for its memory'
      : 'after it was asked to stop';
  if (job !== null && trueCondition(job.conditions, 'Complete') !== null) {
    return `the Job ${job.object.name} is Complete, because its pod exited with 0 ${although}`;
  }
  return pod?.phase === 'Succeeded' ? `the pod is Succeeded, because it exited with 0 ${although}` : null;
}

function saidFinished({ message, lane }: WhyFacts): boolean {
  return message?.end === 'finished' || lane?.end?.end === 'finished';
}
