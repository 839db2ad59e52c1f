import { END_CAUSES } from '../../domain/causes/catalogue.ts';
import { spend } from '../../domain/gang/budgets.ts';
import { actionFor, isStronger } from '../../domain/gang/end-action.ts';
import type { PodEnd } from '../../domain/gang/pod-end.ts';
import { lastLine } from '../../domain/gang/same-error.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import type { NodePlace, Progress } from '../reconcile/draft.ts';
import { closeAttempt, endWithout, failureOf } from '../reconcile/end-attempt.ts';
import { noteReport } from '../reconcile/milestones.ts';
import { noteLastGood, noteLostWork } from '../training-run/last-words.ts';
import { type AttemptEndRecord, currentAttempt, type RunRecord, withAttempt, withNextAttempt } from '../training-run/record.ts';
import type { MemberPod } from './member-pod.ts';
import type { JobEnd } from './observed-job.ts';

/** What a run of a Job depends on. */
export interface RunFacts {
  readonly nowMs: number;
  /** The pods that stand for the run, one after the other. */
  readonly pods: readonly MemberPod[];
  /** The other pods of its gang. */
  readonly peers: readonly MemberPod[];
  /** How many pods train at the same time. */
  readonly gangSize: number;
  readonly isSuspended: boolean;
  /** How the Job ended for this run; null: it has not. */
  readonly ended: JobEnd | null;
  /** The newest report of the supervisor in the current attempt; null: none came. */
  readonly progress: Progress | null;
  /** The last lines of the log of a pod that failed; null: there is none. */
  readonly logs: ReadonlyMap<string, string | null>;
  readonly placeOf: (node: string) => NodePlace;
}

/** A Job restarts a pod after any error, as this policy does. */
const POLICY = 'OnFailure';
/** The pods of one attempt are created together. */
const SAME_GANG_MS = 60_000;
const UNSEEN_SUCCESS: PodEnd = { class: 'finished', cause: 'FINISHED', exitCode: 0 };
const VANISHED: PodEnd = { class: 'interrupted', cause: 'POD_DELETED', exitCode: null };

/**
 * The record of a run that the Job controller runs: each pod is an attempt. Nothing here changes
 * what happens to the Job.
 */
export function followRun(facts: RunFacts, before: RunRecord): RunRecord {
  if (before.endedAt !== null) return before;
  const words = facts.pods.flatMap(({ name, told }) => (told === null ? [] : [{ name, told }]));
  const told = words.reduce((record, each) => noteLastGood(record, each.told), before);
  const reported = noteReport(facts, told);
  const isKnown = (pod: MemberPod): boolean => reported.attempts.some((attempt) => attempt.pod === pod.name);
  const pods = facts.pods.filter((pod) => isKnown(pod) || pod.createdMs >= lastCreatedMs(reported));
  const followed = pods.filter((pod) => !isKnown(pod)).reduce((record, pod) => begin(facts, settle(facts, record), pod), reported);
  const settled = settle(facts, followed);
  const numberOf = (name: string): number => settled.attempts.find(({ pod }) => pod === name)?.number ?? 0;
  const exact = words.reduce((record, each) => noteLostWork(record, numberOf(each.name), each.told), settled);
  return conclude(facts, exact);
}

/** A pod that was deleted before the record knew it is older than what the record knows. */
function lastCreatedMs(record: RunRecord): number {
  return Date.parse(currentAttempt(record).createdAt ?? '1970-01-01T00:00:00Z');
}

/** Another pod is another attempt; the first one finds the first attempt empty. */
function begin(facts: RunFacts, record: RunRecord, pod: MemberPod): RunRecord {
  const isFirst = currentAttempt(record).pod === null;
  const open = isFirst ? record : withNextAttempt(close(facts, record, null, VANISHED), null);
  const createdAt = timestamp(pod.createdMs);
  const torn = open.attempts.map((each) =>
    each.number < open.attempt && each.tornDownAt === null ? { ...each, tornDownAt: timestamp(facts.nowMs) } : each,
  );
  const next = { ...open, attempts: torn, firstCreatedAt: open.firstCreatedAt ?? createdAt };
  return withAttempt(next, next.attempt, { pod: pod.name, createdAt });
}

/** Notes what is to be seen of the pod of the current attempt, and its end. */
function settle(facts: RunFacts, record: RunRecord): RunRecord {
  const attempt = currentAttempt(record);
  if (attempt.pod === null || attempt.end !== null) return record;
  const pod = facts.pods.find(({ name }) => name === attempt.pod) ?? null;
  if (pod === null) return close(facts, record, null, VANISHED);
  const now = timestamp(facts.nowMs);
  const seen = withAttempt(record, record.attempt, {
    scheduledAt: attempt.scheduledAt ?? (pod.node === null ? null : now),
    startedAt: attempt.startedAt ?? (pod.phase === 'Pending' ? null : now),
    resumedAt: attempt.resumedAt ?? (typeof facts.progress?.step === 'number' ? now : null),
  });
  if (pod.end.class === 'running') return seen;
  const decisive = decisiveOf(facts, pod);
  return close(facts, seen, decisive, decisive.end);
}

/** The pod that ended the gang: the peers of an interrupted pod fail because they lose it. */
function decisiveOf({ peers }: RunFacts, leader: MemberPod): MemberPod {
  const action = actionFor(POLICY, leader.end.class);
  const interrupted = peers.find(({ end, createdMs }) => end.class === 'interrupted' && createdMs >= leader.createdMs - SAME_GANG_MS);
  return action !== 'succeed' && interrupted !== undefined && isStronger('restart', action) ? interrupted : leader;
}

/** Ends the current attempt. */
function close(facts: RunFacts, before: RunRecord, pod: MemberPod | null, podEnd: PodEnd): RunRecord {
  if (currentAttempt(before).end !== null) return before;
  const end: PodEnd = facts.isSuspended && podEnd.class === 'interrupted' ? { ...podEnd, cause: 'JOB_SUSPENDED' } : podEnd;
  const record = charge(facts, before, pod, end);
  const accelerators = facts.gangSize * ((pod ?? facts.pods.at(-1))?.accelerators ?? 0);
  const counted = { nowMs: facts.nowMs, pods: [{ attempt: record.attempt, accelerators }] };
  const where = whereOf(facts, pod);
  const name = pod?.name ?? currentAttempt(record).pod;
  return closeAttempt(counted, record, { ...endWithout(counted, record, end.cause), ...where, pod: name, exitCode: end.exitCode });
}

/** What the end of a pod spends, and its last words. */
function charge({ logs }: RunFacts, record: RunRecord, pod: MemberPod | null, end: PodEnd): RunRecord {
  const action = actionFor(POLICY, end.class);
  if (action === 'stay' || action === 'succeed') return record;
  const log = pod === null ? null : (logs.get(pod.name) ?? null);
  const trace = { exitCode: end.exitCode, line: log === null ? null : lastLine(log) };
  const { lastGoodStep } = record.progress;
  const { budgets, isRepeating } = spend(record.budgets, { action, trace, lastGoodStep, backoffLimit: null });
  const isError = end.class !== 'interrupted' && pod !== null;
  const failure = isError ? failureOf(record.attempt, { pod: pod.name, exitCode: end.exitCode }, log) : record.failure;
  return { ...record, budgets, isRepeating, failure };
}

function whereOf({ placeOf }: RunFacts, pod: MemberPod | null): Pick<AttemptEndRecord, 'node' | 'nodePool' | 'zone' | 'machineType'> {
  const node = pod?.node ?? null;
  const place = node === null ? null : placeOf(node);
  return { node, nodePool: place?.pool ?? null, zone: place?.zone ?? null, machineType: place?.machineType ?? null };
}

/** The phase of the run, and its end. */
function conclude(facts: RunFacts, record: RunRecord): RunRecord {
  return facts.ended === null ? { ...record, ...phaseOf(facts, record) } : finish(facts, facts.ended, record);
}

type Phased = Pick<RunRecord, 'phase' | 'message'>;

function phaseOf({ isSuspended }: RunFacts, record: RunRecord): Phased {
  const { pod, end, startedAt } = currentAttempt(record);
  if (isSuspended) return { phase: 'Suspended', message: 'the Job is suspended' };
  if (pod === null) return { phase: 'Pending', message: 'the Job has no pod yet' };
  if (end === null && startedAt === null) return { phase: 'Starting', message: `${pod} starts` };
  if (end === null) return { phase: 'Running', message: `attempt ${record.attempt} runs` };
  if (end.cause === 'FINISHED') return { phase: 'Running', message: `${pod} has finished; the Job has not` };
  const message = `another pod follows, because ${pod} ended: ${END_CAUSES[end.cause].title}`;
  return { phase: record.isRepeating ? 'BackingOff' : 'Restarting', message };
}

/** A Job may count an interrupted pod that exited with 0 as success. Its run has not finished. */
function finish(facts: RunFacts, { isComplete, atMs, message }: JobEnd, record: RunRecord): RunRecord {
  const isOpen = currentAttempt(record).pod !== null;
  const closed = isOpen ? close(facts, record, null, isComplete ? UNSEEN_SUCCESS : VANISHED) : record;
  const { pod, end } = currentAttempt(closed);
  const ended = { ...closed, endedAt: timestamp(atMs ?? facts.nowMs) };
  if (!isComplete) return { ...ended, phase: 'Failed', message: message ?? 'the Job has failed' };
  if (end === null || end.cause === 'FINISHED') return { ...ended, phase: 'Succeeded', message: 'the run has finished' };
  const unfinished = `the Job is Complete, but ${pod ?? 'its pod'} did not finish: ${END_CAUSES[end.cause].title}`;
  return { ...ended, phase: 'Failed', message: unfinished };
}
