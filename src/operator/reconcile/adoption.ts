import type { RunRecord } from '../training-run/record.ts';
import { type Draft, type Facts, phase, tell } from './draft.ts';
import type { ObservedPod } from './observed-pod.ts';
import { currentPods, placesOf } from './places.ts';

/** A controller that has created no pod for so long has stopped, or has nothing to do. */
const QUIET_MS = 30_000;

/** The pod in the attempt that adopted it; one that is new to the run stands in the current one. */
export function withAdopted({ adopted, attempt }: Pick<RunRecord, 'adopted' | 'attempt'>, pod: ObservedPod): ObservedPod {
  if (!pod.isForeign) return pod;
  return { ...pod, attempt: adopted?.uids.includes(pod.uid) === true ? adopted.attempt : attempt };
}

/**
 * When the job is looked at again, because another controller is still creating its pods; null: it
 * is not. A gang that is complete at the first look is adopted at once.
 */
export function leftAloneUntilMs(facts: Facts, record: RunRecord): number | null {
  const { job, pods, nowMs } = facts;
  const news = newcomers(record, pods);
  if (news.length === 0) return null;
  const isComplete = currentPods(job, record, pods).size === placesOf(job).length;
  if (isComplete && record.firstCreatedAt === null) return null;
  const untilMs = Math.max(...news.map(({ createdMs }) => createdMs)) + QUIET_MS;
  return untilMs > nowMs ? untilMs : null;
}

/** Adopts the pods of another controller, which has stopped. */
export function adopt({ pods }: Facts, draft: Draft): Draft {
  const { record } = draft;
  if (newcomers(record, pods).length === 0) return draft;
  const own = pods.filter((pod) => pod.isForeign && pod.attempt === record.attempt);
  return { ...draft, record: { ...record, adopted: { attempt: record.attempt, uids: own.map(({ uid }) => uid) } } };
}

/** Says why nothing is done, once. */
export function tellLeftAlone({ job, pods }: Facts, draft: Draft): Draft {
  const names = newcomers(draft.record, pods).map(({ name }) => name);
  const { kind } = job.kind.resource;
  const message = `another controller creates pods of this ${kind}, so it is left alone: ${names.slice(0, 3).join(', ')}`;
  if (draft.record.phase === 'Waiting' && draft.record.message === message) return draft;
  const advice = `Stop the other operator, or split the two by namespace; ${QUIET_MS / 1000} seconds after its last pod the job is adopted`;
  return phase(tell(draft, 'Warning', 'AnotherController', `${message}. ${advice}`), 'Waiting', message);
}

function newcomers({ adopted }: RunRecord, pods: readonly ObservedPod[]): readonly ObservedPod[] {
  return pods.filter(({ isForeign, uid }) => isForeign && adopted?.uids.includes(uid) !== true);
}
