import { formatDuration } from '../../core/duration.ts';
import { END_CAUSES, type EndCause } from '../../domain/causes/catalogue.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import type { StoreChange } from '../../kube/watch/store.ts';
import { parseRecord } from '../training-run/parse-record.ts';
import type { AttemptEndRecord, AttemptRecord, RunRecord } from '../training-run/record.ts';
import { type RunSubject, subjectOf } from '../training-run/training-run.ts';

/** Something about a run that people want to hear of at once. */
export interface News {
  readonly kind: 'interrupted' | 'failed' | 'succeeded';
  readonly namespace: string;
  readonly run: string;
  readonly subject: RunSubject;
  /** The attempt that ended. */
  readonly attempt: number;
  readonly cause: EndCause;
  /** When the operator noticed the end. */
  readonly at: string;
  readonly what: string;
  readonly lost: string;
  readonly next: string;
}

/** What a change of a TrainingRun tells; null: nothing that anyone waits for. */
export function newsOf({ before, after }: StoreChange): News | null {
  const subject = after === null ? null : subjectOf(after);
  if (before === null || after === null || subject === null || before.metadata.uid !== after.metadata.uid) return null;
  const [was, is] = [parseRecord(before['status']), parseRecord(after['status'])];
  const ended = was === null || is === null ? null : newlyEnded(was, is);
  return is === null || ended === null ? null : tell(after, subject, is, ended);
}

interface EndedAttempt extends AttemptRecord {
  readonly end: AttemptEndRecord;
}

/** The newest attempt that has ended since, or whose cause has turned out to be another one. */
function newlyEnded(was: RunRecord, is: RunRecord): EndedAttempt | null {
  const known = new Map(was.attempts.map(({ number, end }) => [number, end?.cause]));
  const hasEnded = (attempt: AttemptRecord): attempt is EndedAttempt =>
    attempt.end !== null && attempt.end.cause !== known.get(attempt.number);
  return is.attempts.findLast(hasEnded) ?? null;
}

function tell(run: ApiObject, subject: RunSubject, record: RunRecord, { number, end, detectedAt }: EndedAttempt): News | null {
  const kind = kindOf(record, end);
  if (kind === null) return null;
  return {
    kind,
    namespace: run.metadata.namespace ?? '',
    run: run.metadata.name,
    subject,
    attempt: number,
    cause: end.cause,
    at: detectedAt ?? record.endedAt ?? run.metadata.creationTimestamp,
    what: whatText(end),
    lost: lostText(end),
    next: nextText(record),
  };
}

/** A suspension or a deletion is a person's own act, and no news. */
function kindOf({ endedAt, phase }: RunRecord, { cause }: AttemptEndRecord): News['kind'] | null {
  if (cause === 'JOB_SUSPENDED' || phase === 'Deleted') return null;
  if (endedAt === null) return 'interrupted';
  return phase === 'Succeeded' ? 'succeeded' : 'failed';
}

function whatText({ cause, pod, node, exitCode }: AttemptEndRecord): string {
  const facts = [
    ...(pod === null ? [] : [`pod ${pod}`]),
    ...(node === null ? [] : [`node ${node}`]),
    ...(exitCode === null ? [] : [`exit code ${exitCode}`]),
  ];
  return `${END_CAUSES[cause].title}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`;
}

function lostText({ lostSteps, lostSeconds, accelerators }: AttemptEndRecord): string {
  if (lostSteps === null && lostSeconds === null) return 'unknown, because rank 0 reported no step';
  const steps = lostSteps === null ? [] : [`${lostSteps} ${lostSteps === 1 ? 'step' : 'steps'}`];
  const time = lostSeconds === null ? [] : [timeText(lostSeconds, accelerators)];
  return [...steps, ...time].join(', ');
}

function timeText(seconds: number, accelerators: number): string {
  return accelerators === 0
    ? formatDuration(1000 * seconds)
    : `${formatDuration(1000 * seconds)} on ${accelerators} ${accelerators === 1 ? 'accelerator' : 'accelerators'}`;
}

function nextText({ endedAt, phase, message, attempt, notBefore, progress }: RunRecord): string {
  if (endedAt !== null) return phase === 'Succeeded' ? 'the run is finished' : `nothing restarts it: ${message}`;
  const when = notBefore === null ? 'when the pods of the last one are gone' : `at ${notBefore}`;
  const from = progress.lastGoodStep === null ? 'its last checkpoint' : `step ${progress.lastGoodStep}`;
  return `attempt ${attempt} starts ${when}, from ${from}`;
}
