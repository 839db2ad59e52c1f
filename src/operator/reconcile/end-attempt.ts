import { timestamp } from '../../kube/api/timestamp.ts';
import { END_CAUSES, type EndCause } from '../../domain/causes/catalogue.ts';
import { type BudgetDecision, type Budgets, spend } from '../../domain/gang/budgets.ts';
import { mayFollowFromLoss } from '../../domain/gang/lost-node.ts';
import { lastLine } from '../../domain/gang/same-error.ts';
import {
  type AttemptEndRecord,
  currentAttempt,
  type FailureRecord,
  goodputOf,
  type RunRecord,
  type Totals,
  withAttempt,
  withNextAttempt,
} from '../training-run/record.ts';
import { condition, type Draft, type Facts, phase, tell } from './draft.ts';
import { type Loss, lostName } from './loss.ts';
import type { ObservedPod } from './observed-pod.ts';
import { openUntil } from './open-failure.ts';

const NOWHERE = { pool: null, zone: null, machineType: null };
const LOG_LINES = 20;

/**
 * Ends the current attempt because of a lost pod: another one follows, or the job fails. It goes on
 * while it is open whether that failure, after which nothing follows, comes from a lost node.
 */
export function endAttempt(facts: Facts, draft: Draft, losses: readonly [Loss, ...Loss[]]): Draft {
  const [loss] = losses;
  const decision = charge(facts, draft.record, loss);
  if (decision.outcome === 'fail' && openUntil(facts, loss) !== null) return draft;
  const record = withFailure(facts, { ...draft.record, budgets: decision.budgets, isRepeating: decision.isRepeating }, loss);
  const ended = closeAttempt(facts, record, endOf(facts, record, loss));
  const refund = mayComeBack(loss) ? draft.record.budgets : null;
  const next = { ...draft, record: ended, events: [...draft.events, ...exitEvents(facts, losses)] };
  return decision.outcome === 'fail'
    ? failJob(facts, next, failureText(facts, losses, decision))
    : restartGang(facts, tellRepeating(draft.record, next), losses, { ...decision, refund });
}

/** Says once that the same error comes again and again, and that no limit ends the run. */
export function tellRepeating({ isRepeating }: RunRecord, next: Draft): Draft {
  if (isRepeating || !next.record.isRepeating) return next;
  return tell(next, 'Warning', 'SameError', `${repeated(next.record)}: correct the program, or set a backoffLimit`);
}

function repeated({ budgets }: RunRecord): string {
  return `the same error came ${budgets.same?.times ?? 0} times without progress, and no backoffLimit ends the run`;
}

/** A failure that cost something, and that the loss of another pod’s node may explain later. */
function mayComeBack({ pod, end, action }: Loss): boolean {
  return pod !== null && action !== 'restart' && mayFollowFromLoss(end.cause);
}

/** What the budgets make of a lost pod. */
export function charge(facts: Facts, record: RunRecord, { pod, end, action }: Loss): BudgetDecision {
  const log = pod === null ? null : (facts.logs.get(pod.name) ?? null);
  const trace = { exitCode: end.exitCode, line: log === null ? null : lastLine(log) };
  const lastGoodStep = record.progress.lastGoodStep;
  return spend(record.budgets, { action, trace, lastGoodStep, backoffLimit: facts.job.run.backoffLimit });
}

/** The record with the last words of a pod that failed by itself. */
export function withFailure(facts: Facts, record: RunRecord, { pod, end, action }: Loss): RunRecord {
  if (pod === null || action === 'restart') return record;
  const failure = failureOf(record.attempt, { pod: pod.name, exitCode: end.exitCode }, facts.logs.get(pod.name) ?? null);
  return { ...record, failure };
}

/** The last words of a pod that failed. */
export function failureOf(attempt: number, { pod, exitCode }: Pick<FailureRecord, 'pod' | 'exitCode'>, log: string | null): FailureRecord {
  const lines = log?.split('\n').filter((line) => line !== '') ?? null;
  return { attempt, pod, exitCode, log: lines?.slice(-LOG_LINES) ?? null };
}

/** Ends the current attempt in the record, without a next one. */
export function closeAttempt(facts: Counted, record: RunRecord, end: AttemptEndRecord): RunRecord {
  const attempt = currentAttempt(record);
  if (attempt.end !== null) return record;
  const closed = withAttempt(record, record.attempt, { detectedAt: timestamp(facts.nowMs), end });
  return { ...closed, totals: totalsAfter(facts, closed, end) };
}

/** The end of an attempt that no lost pod caused. */
export function endWithout(facts: Counted, record: RunRecord, cause: EndCause): AttemptEndRecord {
  const where = { pod: null, node: null, nodePool: null, zone: null, machineType: null, exitCode: null };
  const lost = lossOf(facts, record);
  return { cause, ...where, ...(cause === 'FINISHED' ? { ...lost, lostSteps: 0, lostSeconds: 0 } : lost) };
}

/** The end of an attempt by a lost pod. */
export function endOf(facts: Facts, record: RunRecord, loss: Loss): AttemptEndRecord {
  const place = { pod: lostName(facts, loss), ...placeOfEnd(facts, loss.pod?.node ?? null) };
  return { cause: loss.end.cause, ...place, exitCode: loss.end.exitCode, ...lossOf(facts, record) };
}

/** Where the lost pod of an attempt stood; null: on no node. */
export function placeOfEnd(
  facts: Pick<Facts, 'placeOf'>,
  node: string | null,
): Pick<AttemptEndRecord, 'node' | 'nodePool' | 'zone' | 'machineType'> {
  const { pool, zone, machineType } = node === null ? NOWHERE : facts.placeOf(node);
  return { node, nodePool: pool, zone, machineType };
}

/** What the cost of an end is counted from. */
export interface Counted {
  readonly nowMs: number;
  readonly pods: readonly Pick<ObservedPod, 'attempt' | 'accelerators'>[];
}

type Lost = Pick<AttemptEndRecord, 'lostSteps' | 'lostSeconds' | 'accelerators'>;

/** The work since the last good step, as far as rank 0 reported both. */
function lossOf({ nowMs, pods }: Counted, { progress, attempt }: RunRecord): Lost {
  const counted = pods.filter((pod) => pod.attempt === attempt).reduce((sum, pod) => sum + pod.accelerators, 0);
  const { step, lastGoodStep, sealedAt } = progress;
  const lostSteps = step === null || lastGoodStep === null ? null : Math.max(0, step - lastGoodStep);
  const lostSeconds = sealedAt === null ? null : Math.max(0, Math.round((nowMs - Date.parse(sealedAt)) / 1000));
  return { lostSteps, lostSeconds, accelerators: progress.accelerators ?? counted };
}

function totalsAfter(facts: Counted, record: RunRecord, { lostSteps, lostSeconds, accelerators }: AttemptEndRecord): Totals {
  const { totals } = record;
  const { startedAt } = currentAttempt(record);
  const trained = startedAt === null ? 0 : Math.max(0, Math.round((facts.nowMs - Date.parse(startedAt)) / 1000));
  const lost = Math.min(trained, lostSeconds ?? 0);
  const next = {
    lostSteps: totals.lostSteps + (lostSteps ?? 0),
    lostAcceleratorSeconds: totals.lostAcceleratorSeconds + lost * accelerators,
    trainedSeconds: totals.trainedSeconds + trained,
    lostSeconds: totals.lostSeconds + lost,
  };
  return { ...next, goodputPercent: goodputOf(next, record.firstCreatedAt, facts.nowMs) };
}

interface Restart extends BudgetDecision {
  /** The budgets to come back to; null: to none. */
  readonly refund: Budgets | null;
}

function restartGang(facts: Facts, draft: Draft, losses: readonly [Loss, ...Loss[]], decision: Restart): Draft {
  const { job, nowMs } = facts;
  const [loss] = losses;
  const { role } = loss.place.replica;
  const count = losses.filter(({ place }) => place.replica.role === role).length;
  const notBefore = decision.delayMs === 0 ? null : timestamp(nowMs + decision.delayMs);
  const record = { ...withNextAttempt(draft.record, notBefore), refund: decision.refund };
  const because = `${lostName(facts, loss)} was lost: ${END_CAUSES[loss.end.cause].title}`;
  const message = `${job.kind.resource.kind} ${job.name} is restarting because ${count} ${role} replica(s) failed.`;
  const told = tell(
    { ...draft, record },
    'Warning',
    `${job.kind.resource.kind}Restarting`,
    `${message} ${because}; attempt ${record.attempt} follows`,
  );
  const marked = condition(facts, { ...told, counters: [...told.counters, 'restarted'] }, { type: 'Restarting', message });
  const again = record.isRepeating ? `; ${repeated(record)}` : '';
  return phase(marked, notBefore === null ? 'Restarting' : 'BackingOff', `attempt ${record.attempt} follows, because ${because}${again}`);
}

/** Fails the job for good. */
export function failJob(facts: Facts, draft: Draft, failure: { readonly message: string; readonly isWarning?: boolean }): Draft {
  const { kind } = facts.job.kind.resource;
  const told = tell(draft, failure.isWarning === true ? 'Warning' : 'Normal', `${kind}Failed`, failure.message);
  const status = { ...told.status, completionTime: told.status.completionTime ?? timestamp(facts.nowMs) };
  const marked = condition(
    facts,
    { ...told, status, counters: [...told.counters, 'failed'] },
    { type: 'Failed', message: failure.message },
  );
  const ended = { ...marked, record: { ...marked.record, endedAt: timestamp(facts.nowMs), notBefore: null } };
  return phase(ended, 'Failed', failure.message);
}

function failureText(
  facts: Facts,
  losses: readonly [Loss, ...Loss[]],
  decision: BudgetDecision,
): { readonly message: string; readonly isWarning: boolean } {
  const { job } = facts;
  const [loss] = losses;
  const { role, policy } = loss.place.replica;
  const why = `${lostName(facts, loss)}: ${END_CAUSES[loss.end.cause].title}; ${decision.reason ?? ''}`;
  if (loss.action !== 'fail') {
    return { message: `Job ${job.name} has failed because it has reached the specified backoff limit (${why})`, isWarning: false };
  }
  const count = losses.filter(({ place, action }) => place.replica.role === role && action === 'fail').length;
  return { message: `${job.kind.messages.failed(job, role, count)} ${why}`, isWarning: policy === 'ExitCode' };
}

function exitEvents(facts: Facts, losses: readonly Loss[]): Draft['events'] {
  return losses.flatMap(({ pod }) => {
    if (pod === null || pod.ended === null) return [];
    const message = `Pod: ${facts.job.namespace}.${pod.name} exited with code ${pod.ended.exitCode}`;
    return [{ type: 'Normal', reason: 'ExitedWithCode', message } as const];
  });
}
