import { END_CAUSES } from '../../domain/causes/catalogue.ts';
import { spend } from '../../domain/gang/budgets.ts';
import { wasSilentAt } from '../../domain/gang/lost-node.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import { isFinished } from '../status/job-status.ts';
import { type AttemptEndRecord, type AttemptRecord, currentAttempt, type RunRecord, withAttempt } from '../training-run/record.ts';
import { type Draft, type Facts, phase, tell } from './draft.ts';
import { placeOfEnd } from './end-attempt.ts';
import type { ObservedPod } from './observed-pod.ts';

/**
 * Looks back at the last attempt until the next one has pods: where one of its nodes turns out to
 * have been silent when it ended, the loss of that node is the cause. What the attempt spent comes
 * back, and the next one waits for no back-off. The record holds all of it, so that an operator
 * which is killed decides the same again, or finds it decided. A job that has ended meanwhile stays
 * ended, and only its record is put right.
 */
export function lookBack(facts: Facts, draft: Draft): Draft {
  const { record } = draft;
  if (record.refund === null) return draft;
  // The watch may lag behind, and show no pod although one is there. But where a pod of the next
  // attempt was created, the API server knew none of the last one.
  if (currentAttempt(record).createdAt !== null) return { ...draft, record: { ...record, refund: null } };
  const last = record.attempts.find(({ number }) => number === record.attempt - 1);
  const pod = last === undefined ? undefined : facts.pods.find((each) => hasLost(facts.job, each, last));
  return last?.end == null || pod === undefined ? draft : blame(facts, draft, { last, end: last.end, pod });
}

/** The pod was of the gang of this attempt, and its node was silent already when that ended. */
function hasLost({ kind }: TrainingJob, { attempt, role, nodeLoss }: ObservedPod, { number, detectedAt }: AttemptRecord): boolean {
  if (attempt !== number || kind.asideRoles.includes(role)) return false;
  return nodeLoss !== null && detectedAt !== null && wasSilentAt(Date.parse(detectedAt), nodeLoss);
}

interface Found {
  readonly last: AttemptRecord;
  readonly end: AttemptEndRecord;
  readonly pod: ObservedPod;
}

function blame(facts: Facts, draft: Draft, { last, end, pod }: Found): Draft {
  const because = `${pod.name} was lost: ${END_CAUSES.NODE_LOST.title}`;
  const found: AttemptEndRecord = { ...end, cause: 'NODE_LOST', pod: pod.name, exitCode: null, ...placeOfEnd(facts, pod.node) };
  const record: RunRecord = {
    ...withAttempt(draft.record, last.number, { end: found }),
    budgets: refunded(draft.record),
    isRepeating: false,
    refund: null,
    notBefore: null,
  };
  const failed = end.pod === null ? 'what failed' : `the failure of ${end.pod}`;
  const message = `attempt ${last.number} ended because ${because}; ${failed} followed from that and costs nothing`;
  const told = tell({ ...draft, record }, 'Normal', 'CauseFound', message);
  return isFinished(draft.status) ? told : phase(told, 'Restarting', `attempt ${record.attempt} follows, because ${because}`);
}

/** What the attempt would have spent if the loss had been known at once: an interruption. */
function refunded({ refund, budgets, progress }: RunRecord): RunRecord['budgets'] {
  const end = {
    action: 'restart',
    trace: { exitCode: null, line: null },
    lastGoodStep: progress.lastGoodStep,
    backoffLimit: null,
  } as const;
  return refund === null ? budgets : spend(refund, end).budgets;
}
