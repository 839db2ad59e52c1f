import type { EndCause } from '../../domain/causes/catalogue.ts';
import type { PodEnd } from '../../domain/gang/pod-end.ts';
import { isTrue } from '../status/job-status.ts';
import { currentAttempt, type RunRecord } from '../training-run/record.ts';
import type { Draft, Facts } from './draft.ts';
import { endAttempt } from './end-attempt.ts';
import type { Loss } from './loss.ts';
import type { ObservedPod } from './observed-pod.ts';
import { currentPods, placeKey, wantedPlaces } from './places.ts';
import { lacksImage } from './stuck-pods.ts';

/** When an attempt that has not started is given up; null: never. */
export function lateStartMs(facts: Facts, { record, status }: Draft): number | null {
  const { createdAt, startedAt } = currentAttempt(record);
  if (createdAt === null || startedAt !== null || isTrue(status, 'Running')) return null;
  const { startDeadlineMs, spotPatienceMs } = facts.job.choices;
  const limits = [startDeadlineMs, waitsForSpot(facts, record) ? spotPatienceMs : null].filter((ms) => ms !== null);
  return limits.length === 0 ? null : Date.parse(createdAt) + Math.min(...limits);
}

/**
 * Gives up an attempt of which one pod does not start, so that the others free their machines. An
 * attempt that waited for Spot machines is followed at once, by one on demand.
 */
export function handleLateStart(facts: Facts, draft: Draft): Draft {
  const atMs = lateStartMs(facts, draft);
  if (atMs === null || atMs > facts.nowMs) return draft;
  const late = latePod(facts, draft.record);
  return late === null ? draft : endAttempt(facts, draft, [late]);
}

const LATE: ReadonlySet<EndCause> = new Set(['POD_UNSCHEDULABLE', 'IMAGE_NOT_PULLED', 'CONTAINER_NOT_STARTED']);

/** Whether the last attempt of a job with a deadline was given up because a pod did not start. */
export function endedLate({ job }: Facts, record: RunRecord): boolean {
  const { end, startedAt } = currentAttempt(record);
  return job.choices.startDeadlineMs !== null && end !== null && startedAt === null && LATE.has(end.cause);
}

/** A pod of an attempt on Spot machines has no node that it fits. */
function waitsForSpot(facts: Facts, record: RunRecord): boolean {
  if (currentAttempt(record).placement !== 'spot') return false;
  return [...currentPods(facts.job, record, facts.pods).values()].some(({ isUnschedulable }) => isUnschedulable);
}

/** The first pod that has not started. */
function latePod(facts: Facts, record: RunRecord): Loss | null {
  const pods = currentPods(facts.job, record, facts.pods);
  const lost = wantedPlaces(facts.job, record).flatMap((place) => {
    const pod = pods.get(placeKey({ role: place.replica.role, index: place.index }));
    return pod === undefined || pod.phase === 'Pending' ? [{ place, pod: pod ?? null }] : [];
  });
  // What cannot be scheduled holds up all others; what is being pulled may only be slow.
  const first = lost.find(({ pod }) => pod?.isUnschedulable === true) ?? lost[0];
  if (first === undefined) return null;
  const cause = first.pod === null ? 'CANNOT_TELL' : causeOf(first.pod);
  const end: PodEnd = { class: 'error', cause, exitCode: null };
  return { ...first, end, action: cause === 'POD_UNSCHEDULABLE' && waitsForSpot(facts, record) ? 'restart' : 'spend' };
}

function causeOf(pod: ObservedPod): EndCause {
  if (pod.isUnschedulable || pod.node === null) return 'POD_UNSCHEDULABLE';
  return lacksImage(pod) ? 'IMAGE_NOT_PULLED' : 'CONTAINER_NOT_STARTED';
}
