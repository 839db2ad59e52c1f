import { formatDuration } from '../core/duration.ts';
import type { Recorded } from '../ledger/events.ts';
import { trueCondition } from '../kube/objects/condition.ts';
import type { Pod } from '../kube/objects/pod.ts';
import type { WhyFacts } from './facts/facts.ts';
import { deletedAtMs } from './rules/deletion.ts';

/** One event in time, and its source. */
export interface Moment {
  readonly atMs: number;
  readonly from: 'pod' | 'event' | 'job' | 'node' | 'run' | 'ledger';
  readonly text: string;
  /** The evidence for the verdict, or the end itself. */
  readonly isKey: boolean;
}

/** The number of moments shown: the first ones and those around the end. */
const MOST = 24;
/** Events that show nothing about an end. */
const ORDINARY: ReadonlySet<string> = new Set([
  'Pulled',
  'Created',
  'Scheduled',
  'Unhealthy',
  'SuccessfulCreate',
  'Pulling',
  'SuccessfulAttachVolume',
]);

/** All known moments of the pod, Job, node, TrainingRun and ledger, in one order. */
export function timelineOf(facts: WhyFacts): readonly Moment[] {
  const all = [
    ...podMoments(facts),
    ...eventMoments(facts),
    ...jobMoments(facts),
    ...nodeMoments(facts),
    ...runMoments(facts),
    ...ledgerMoments(facts),
  ];
  const sorted = all.filter(({ atMs }) => Number.isFinite(atMs)).sort((a, b) => a.atMs - b.atMs);
  if (sorted.length <= MOST) return sorted;
  const kept = new Set([...sorted.slice(0, 2), ...sorted.filter(({ isKey }) => isKey), ...sorted.slice(-(MOST - 8))]);
  return sorted.filter((each) => kept.has(each)).slice(-MOST);
}

function podMoments(facts: WhyFacts): readonly Moment[] {
  return facts.pod === null ? [] : [...lifeMoments(facts, facts.pod), ...endMoments(facts, facts.pod)];
}

function lifeMoments({ ended, container }: WhyFacts, pod: Pod): readonly Moment[] {
  const name = container?.name ?? '';
  const startedMs = ended === null ? (container?.runningSinceMs ?? null) : ended.startedMs;
  const ending = ended === null ? '' : `container ${name} ends: ${ended.exitCode} ${ended.reason ?? ''}`.trimEnd();
  return [
    ...moment(pod.object.createdMs, 'pod', 'the pod is created'),
    ...moment(startedMs, 'pod', `container ${name} starts on ${pod.spec.nodeName ?? 'its node'}`),
    ...moment(ended === null ? null : ended.finishedMs, 'pod', ending, true),
  ];
}

function endMoments(facts: WhyFacts, pod: Pod): readonly Moment[] {
  const condition = trueCondition(pod.conditions, 'DisruptionTarget');
  const { deletionGraceSeconds } = pod.object;
  const grace = deletionGraceSeconds === 0 ? 'deleted' : `asked to stop, with a grace of ${deletionGraceSeconds ?? '?'}s`;
  const marked =
    condition === null
      ? []
      : moment(condition.sinceMs, 'pod', `DisruptionTarget/${condition.reason ?? ''}${said(condition.message)}`, true);
  return [...marked, ...moment(deletedAtMs(facts), 'pod', grace, true)];
}

function said(message: string | null): string {
  return message === null || message === '' ? '' : `: ${message}`;
}

function eventMoments({ events }: WhyFacts): readonly Moment[] {
  return events
    .filter(({ reason }) => !ORDINARY.has(reason))
    .flatMap(({ atMs, reason, message, isWarning }) => moment(atMs, 'event', `${reason}${said(message)}`, isWarning));
}

function jobMoments({ job, jobEvents }: WhyFacts): readonly Moment[] {
  const conditions = job?.conditions.filter(({ status }) => status === 'True') ?? [];
  return [
    ...conditions.flatMap(({ sinceMs, type, reason }) =>
      moment(sinceMs, 'job', `the Job is ${type}${reason === null ? '' : ` (${reason})`}`, true),
    ),
    ...jobEvents
      .filter(({ reason }) => reason === 'Suspended' || reason === 'Resumed')
      .flatMap(({ atMs, reason }) => moment(atMs, 'job', `the Job is ${reason.toLowerCase()}`, true)),
  ];
}

function nodeMoments({ node, nodeEvents, ended }: WhyFacts): readonly Moment[] {
  const [startMs, endMs] = [ended?.startedMs ?? 0, ended?.finishedMs ?? Number.POSITIVE_INFINITY];
  return [
    ...(node?.taints ?? []).flatMap(({ key, effect, addedMs }) => moment(addedMs, 'node', `the node gets the taint ${key}:${effect}`)),
    // Events of the node long after the end say nothing about it.
    ...nodeEvents
      .filter(({ atMs, reason }) => atMs !== null && atMs >= startMs && atMs <= endMs + HOUR_MS && !NODE_ORDINARY.test(reason))
      .flatMap(({ atMs, reason, message }) => moment(atMs, 'node', `${reason}${said(message)}`)),
  ];
}

const HOUR_MS = 3_600_000;
/** The events of a node that starts. */
const NODE_ORDINARY = /^(?:Starting|CgroupV1|NodeHasSufficient\w+|NodeHasNo\w+|NodeAllocatableEnforced|RegisteredNode)$/;

function runMoments({ recorded }: WhyFacts): readonly Moment[] {
  if (recorded === null) return [];
  const { run, attempt, end } = recorded;
  const about = `attempt ${attempt.number}`;
  const told = (at: string | null, text: string, isKey = false): readonly Moment[] =>
    moment(at === null ? null : Date.parse(at), 'run', `${about} ${text}`, isKey);
  const next = run.record.attempts.find(({ number }) => number > attempt.number);
  return [
    ...told(attempt.createdAt, 'is created'),
    ...told(attempt.startedAt, 'runs on all its nodes'),
    ...told(attempt.resumedAt, 'reports its first step'),
    ...(end === null ? [] : told(attempt.detectedAt, `ends: ${end.pod === null ? '' : `${end.pod}, `}${end.cause}`, true)),
    ...told(attempt.tornDownAt, 'has no pods any more'),
    ...moment(next?.resumedAt == null ? null : Date.parse(next.resumedAt), 'run', `attempt ${next?.number ?? ''} trains again`, true),
  ];
}

function ledgerMoments({ lane }: WhyFacts): readonly Moment[] {
  return lane === null ? [] : lane.events.flatMap((recorded) => ledgerMoment(recorded, lane.lastSealedStep));
}

function ledgerMoment({ atMs, event }: Recorded, lastSealed: number | null): readonly Moment[] {
  switch (event.kind) {
    case 'attempt-started':
      return moment(
        atMs,
        'ledger',
        `an attempt starts ${event.resumeStep === null ? 'from the beginning' : `from step ${event.resumeStep}`}`,
      );
    case 'save-ended':
      if (event.outcome === 'sealed' && event.step !== lastSealed) return [];
      return moment(
        atMs,
        'ledger',
        `the save of step ${event.step} is ${event.outcome} after ${formatDuration(event.totalMs)}`,
        event.outcome === 'sealed',
      );
    case 'notice':
      return moment(
        event.noticedMs,
        'ledger',
        `notice: ${event.cause}${event.detail === null ? '' : ` (${event.detail})`}`,
        event.terminating,
      );
    case 'decision':
      return moment(atMs, 'ledger', event.sentence, true);
    case 'flush-ended':
      return moment(atMs, 'ledger', event.sentence, true);
    case 'hang':
      return moment(atMs, 'ledger', event.sentence, true);
    case 'attempt-ended':
      return moment(atMs, 'ledger', `the attempt ends: ${event.sentence}`, true);
    default:
      return [];
  }
}

function moment(atMs: number | null, from: Moment['from'], text: string, isKey = false): readonly Moment[] {
  return atMs === null ? [] : [{ atMs, from, text, isKey }];
}
