import { trueCondition } from '../../kube/objects/condition.ts';
import type { Job } from '../../kube/objects/job.ts';
import type { Pod } from '../../kube/objects/pod.ts';
import type { WhyFacts } from '../facts/facts.ts';
import { type Lead, type Rule, certain, likely } from '../facts/lead.ts';
import { isSilent } from './disruption.ts';

/**
 * The time of the API request that deleted the pod. The deletionTimestamp is that time plus the
 * grace. After the containers have ended, the kubelet deletes the pod again without grace, which
 * overwrites the timestamp. Then the event of the first deletion counts.
 */
export function deletedAtMs({ pod, events }: Pick<WhyFacts, 'pod' | 'events'>): number | null {
  const object = pod?.object;
  if (object === undefined || object.deletionMs === null) return null;
  const graceMs = (object.deletionGraceSeconds ?? 0) * 1000;
  if (graceMs > 0) return object.deletionMs - graceMs;
  const stoppedMs = events.find(({ reason }) => reason === 'Killing')?.atMs ?? null;
  return stoppedMs === null ? object.deletionMs : Math.min(stoppedMs, object.deletionMs);
}

/** Whether the pod was deleted before its end, and not cleaned up afterwards; null if unknown. */
export function wasDeletedFirst(facts: WhyFacts): boolean | null {
  const { pod, ended, events } = facts;
  const atMs = deletedAtMs(facts);
  if (pod === null || atMs === null) return false;
  const endMs = ended === null ? null : ended.finishedMs;
  if (endMs === null || cut(atMs) <= cut(endMs)) return true;
  if ((pod.object.deletionGraceSeconds ?? 0) > 0) return false;
  return hasSeenDeletion(pod) ?? (events.length > 0 ? false : null);
}

/**
 * A deletion creates a new generation. Since 1.33 the kubelet reports the generation it had seen
 * when the containers ended.
 */
function hasSeenDeletion({ conditions, object }: Pod): boolean | null {
  const seen = conditions.find(({ type }) => type === 'ContainersReady')?.generation ?? null;
  return seen === null || object.generation === null ? null : seen >= object.generation;
}

/** The API server truncates times to the second. */
export function cut(ms: number): number {
  return Math.floor(ms / 1000);
}

/** Controllers react a moment later. */
const SLACK_MS = 1000;
/** The largest difference between a node’s clock and the API server’s. */
const CLOCKS_MS = 60_000;

/** Finds what deleted a pod without setting a condition on it. */
export const deletion: Rule = (facts) => {
  const { pod, job, owner } = facts;
  const [atMs, isFirst] = [deletedAtMs(facts), wasDeletedFirst(facts)];
  if (pod === null || atMs === null || isFirst === false) return [];
  if (trueCondition(pod.conditions, 'DisruptionTarget') !== null) return [];
  const byJob = job === null ? [] : deletedByJob(facts, job, Math.min(atMs, facts.ended?.finishedMs ?? atMs));
  if (byJob.length > 0) return byJob;
  if (owner === 'terminating') return [certain('OWNER_DELETED', 'the pod was deleted, and so was its owner')];
  if (owner === 'gone') return [likely('OWNER_DELETED', 'the pod was deleted, and its owner no longer exists')];
  return isFirst === true ? plainly(facts) : [];
};

function deletedByJob({ jobEvents }: WhyFacts, job: Job, atMs: number): readonly Lead[] {
  const suspended = bySuspension(jobEvents, job, atMs);
  if (suspended !== null) return [suspended];
  const over = job.conditions.find(({ type, status }) => status === 'True' && OVER.has(type));
  if (over === undefined || over.sinceMs === null || over.sinceMs > atMs + SLACK_MS) return [];
  const shown = `the pod was deleted when its Job got the condition ${over.type}/${over.reason ?? ''}`;
  if (over.reason === 'DeadlineExceeded') return [certain('JOB_DEADLINE', shown)];
  // The Job may also have ended because of this pod.
  const isOwnDoing = over.reason === 'BackoffLimitExceeded' && job.failed <= 1;
  return isOwnDoing || over.reason === 'CompletionsReached' ? [] : [certain('JOB_ENDED', shown)];
}

function bySuspension(jobEvents: WhyFacts['jobEvents'], job: Job, atMs: number): Lead | null {
  const wasTold = jobEvents.some(({ reason, atMs: ms }) => reason === 'Suspended' && ms !== null && ms <= atMs + SLACK_MS);
  if (wasTold) return certain('JOB_SUSPENDED', 'the pod was deleted when its Job was suspended');
  const suspended = job.conditions.find(({ type }) => type === 'Suspended');
  const isTooLate = suspended?.status === 'True' && suspended.sinceMs !== null && suspended.sinceMs > atMs + CLOCKS_MS;
  if (isTooLate) return null;
  if (job.isSuspended || suspended?.status === 'True') return certain('JOB_SUSPENDED', 'the pod was deleted, and its Job is suspended');
  // The Job was resumed later: the condition stays, with the status false.
  const isLater = suspended !== undefined && (suspended.sinceMs ?? 0) >= atMs - SLACK_MS;
  return isLater ? likely('JOB_SUSPENDED', 'the pod was deleted, and its Job was suspended and then resumed') : null;
}

const OVER: ReadonlySet<string> = new Set(['FailureTarget', 'Failed', 'SuccessCriteriaMet']);

/**
 * A deletion without a named cause. An eviction, a preemption and a taint set their condition
 * before they delete the pod. So if the API server itself shows conditions, but not theirs, none of
 * them happened. This rule is silent for a file, which may have lost the condition, and if the node
 * suggests another cause.
 */
function plainly(facts: WhyFacts): readonly Lead[] {
  const { pod, marksDisruptions } = facts;
  if (pod === null || !marksDisruptions || pod.conditions.length === 0 || lookAlikesOfDeletion(facts).length > 0) return [];
  return [likely('POD_DELETED', 'the pod was deleted, and the API server, which marks each eviction, shows no condition DisruptionTarget')];
}

/** The evidence that makes another kind of deletion as likely as a plain one. */
export function lookAlikesOfDeletion({ pod, node, rivals }: WhyFacts): readonly Lead[] {
  if (pod === null) return [];
  const taint = node?.taints.find(({ effect }) => effect === 'NoExecute');
  const preemptor = rivals.find(({ spec, nominatedNode }) => nominatedNode !== null && (spec.priority ?? 0) > (pod.spec.priority ?? 0));
  return [
    ...(node?.isUnschedulable === true ? [likely('API_EVICTION', `its node ${node.object.name} is cordoned, as by a drain`)] : []),
    ...(taint === undefined ? [] : [likely('NODE_TAINT', `its node has the taint ${taint.key}:NoExecute`)]),
    ...(taint === undefined && isSilent(node) ? [likely('NODE_LOST', 'its node does not report')] : []),
    ...(preemptor === undefined
      ? []
      : [likely('SCHEDULER_PREEMPTION', `pod ${preemptor.object.name} of higher priority is nominated for its node`)]),
  ];
}
