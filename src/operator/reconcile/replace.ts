import { timestamp } from '../../kube/api/timestamp.ts';
import { END_CAUSES } from '../../domain/causes/catalogue.ts';
import { gangRestartAtMs } from '../../domain/gang/restart-mode.ts';
import { isFinished } from '../status/job-status.ts';
import type { Replacement, RunRecord } from '../training-run/record.ts';
import { condition, type Draft, type Facts, tell } from './draft.ts';
import { charge, closeAttempt, endAttempt, endOf, failJob, tellRepeating, withFailure } from './end-attempt.ts';
import { lookBack } from './look-back.ts';
import { endsAttempt, type Loss, lossesOf, lostName } from './loss.ts';
import type { ObservedPod } from './observed-pod.ts';
import { currentPods, isAt, keyAt, placeKey, placesOf } from './places.ts';

/**
 * Decides about every lost pod: the gang restarts for the first one that belongs to it, and others
 * are replaced alone.
 */
export function handleLosses(facts: Facts, draft: Draft): Draft {
  const settled = settleReplacements(facts, draft);
  const losses = lossesOf(facts, settled.record);
  const [first, ...others] = losses.filter((loss) => endsAttempt(facts, loss));
  if (first !== undefined) return lookBackAtOnce(facts, settled.record, endAttempt(facts, settled, [first, ...others]));
  const replaced = losses.reduce((next, loss) => (isFinished(next.status) ? next : replaceAlone(facts, next, loss)), settled);
  if (isFinished(replaced.status)) return replaced;
  const overdue = lossesForGang(facts, replaced.record);
  return overdue === null ? replaced : endAttempt(facts, replaced, [overdue]);
}

/**
 * The node of a pod that is no loss, such as one that was scaled down just now, may be lost
 * already. A pod that went before is no reason why the attempt ended.
 */
function lookBackAtOnce(facts: Facts, { replacing }: RunRecord, ended: Draft): Draft {
  const pods = facts.pods.filter(({ uid, isTerminating }) => !isTerminating && !replacing.some((each) => each.uid === uid));
  return lookBack({ ...facts, pods }, ended);
}

/**
 * When the whole gang restarts although each lost replica was replaced; null: as things are, never.
 */
export function gangRestartMs(facts: Facts, { replacing, progress }: RunRecord): number | null {
  const lostMs = replacing.length === 0 ? null : Math.min(...replacing.map(({ lostAt }) => Date.parse(lostAt)));
  const lastStepMs = progress.steppedAt === null ? null : Date.parse(progress.steppedAt);
  return gangRestartAtMs({ lostRendezvousHost: false, lostMs, lastStepMs, nowMs: facts.nowMs });
}

/** Replacements without a step since the loss: the pod that was lost first decides for the gang. */
function lossesForGang(facts: Facts, record: RunRecord): Loss | null {
  const atMs = gangRestartMs(facts, record);
  const first = record.replacing.toSorted((a, b) => Date.parse(a.lostAt) - Date.parse(b.lostAt))[0];
  const replica = facts.job.replicas.find(({ role }) => role === first?.role);
  if (atMs === null || atMs > facts.nowMs || first === undefined || replica === undefined) return null;
  const end = { class: 'interrupted', cause: 'POD_DELETED', exitCode: null } as const;
  return { place: { replica, index: first.index }, pod: null, end, action: 'restart' };
}

function replaceAlone(facts: Facts, draft: Draft, loss: Loss): Draft {
  const { job, nowMs } = facts;
  const decision = charge(facts, draft.record, loss);
  const record = withFailure(facts, { ...draft.record, budgets: decision.budgets, isRepeating: decision.isRepeating }, loss);
  const { role } = loss.place.replica;
  const because = `${lostName(facts, loss)} was lost: ${END_CAUSES[loss.end.cause].title}`;
  if (decision.outcome === 'fail') {
    const message =
      loss.action === 'fail'
        ? `${job.kind.messages.failed(job, role, 1)} ${because}`
        : `Job ${job.name} has failed because it has reached the specified backoff limit (${because}; ${decision.reason ?? ''})`;
    return failJob(facts, { ...draft, record: closeAttempt(facts, record, endOf(facts, record, loss)) }, { message });
  }
  const lostAt = timestamp(nowMs);
  const entry: Replacement = {
    role,
    index: loss.place.index,
    uid: loss.pod?.uid ?? null,
    lostAt,
    notBefore: timestamp(nowMs + decision.delayMs),
  };
  const message = `${job.kind.resource.kind} ${job.name} is restarting because 1 ${role} replica(s) failed.`;
  const next = { ...draft, record: { ...record, replacing: [...record.replacing.filter((each) => !isAt(each, loss.place)), entry] } };
  const repeated = tellRepeating(draft.record, next);
  const told = tell(repeated, 'Warning', `${job.kind.resource.kind}Restarting`, `${message} ${because}; it alone is replaced`);
  return condition(facts, { ...told, counters: [...told.counters, 'restarted'] }, { type: 'Restarting', message });
}

/**
 * Notes the pods that have no place since the job became smaller, until they are gone. They go
 * whatever comes, so that their ends are the operator's own.
 */
export function noteScaledDown({ job, pods }: Facts, draft: Draft): Draft {
  const { record } = draft;
  const places = new Set(placesOf(job).map(keyAt));
  const isPlaced = (pod: ObservedPod): boolean => places.has(placeKey(pod));
  const going = pods.filter((pod) => pod.attempt === record.attempt && (!isPlaced(pod) || record.scaledDown.includes(pod.uid)));
  return { ...draft, record: { ...record, scaledDown: going.map(({ uid }) => uid) } };
}

/** Forgets a replacement once its successor runs, and the one of a role that was scaled down. */
function settleReplacements(facts: Facts, draft: Draft): Draft {
  const { record } = draft;
  const pods = currentPods(facts.job, record, facts.pods);
  const counts = new Map(facts.job.replicas.map(({ role, count }) => [role, count]));
  const replacing = record.replacing.filter((each) => {
    const pod = pods.get(placeKey(each));
    const isBack = pod !== undefined && pod.uid !== each.uid && pod.phase === 'Running' && pod.end.class === 'running';
    return !isBack && each.index < (counts.get(each.role) ?? 0);
  });
  return replacing.length === record.replacing.length ? draft : { ...draft, record: { ...record, replacing } };
}
