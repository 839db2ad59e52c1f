import { END_CAUSES, type EndCause } from '../../domain/causes/catalogue.ts';
import { type Budgets, FULL_BUDGETS } from '../../domain/gang/budgets.ts';
import type { Placement } from '../../domain/gang/placement.ts';
import type { ErrorTrace } from '../../domain/gang/same-error.ts';
import { at, fieldsOf, isFields, listAt, numberAt, textAt, textsAt, timeAt } from '../../kube/objects/fields.ts';
import {
  type AttemptEndRecord,
  type AttemptRecord,
  type FailureRecord,
  FIRST_RECORD,
  freshAttempt,
  type ProgressRecord,
  type Replacement,
  ROOM_STAGES,
  type RoomRecord,
  RUN_PHASES,
  type RunRecord,
  type Totals,
} from './record.ts';

/**
 * Reads the record out of the status of a TrainingRun. Null: there is none yet. Whoever may edit
 * TrainingRuns may have changed it, so that every field is read for itself.
 */
export function parseRecord(status: unknown): RunRecord | null {
  const attempt = numberAt(status, 'attempt');
  if (attempt === null || !Number.isSafeInteger(attempt) || attempt < 1) return null;
  const attempts = listAt(status, 'attempts').flatMap(attemptOf);
  return {
    phase: RUN_PHASES.find((phase) => phase === textAt(status, 'phase')) ?? FIRST_RECORD.phase,
    message: textAt(status, 'message') ?? '',
    attempt,
    attempts: attempts.some(({ number }) => number === attempt) ? attempts : [...attempts, freshAttempt(attempt)],
    seen: Object.fromEntries(
      Object.entries(fieldsOf(at(status, 'seen'))).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
    ),
    replacing: listAt(status, 'replacing').flatMap(replacementOf),
    scaledDown: textsAt(status, 'scaledDown'),
    adopted: adoptedOf(at(status, 'adopted')),
    notBefore: instant(status, 'notBefore'),
    budgets: budgetsOf(at(status, 'budgets')),
    refund: isFields(at(status, 'refund')) ? budgetsOf(at(status, 'refund')) : null,
    progress: progressOf(at(status, 'progress')),
    totals: totalsOf(at(status, 'totals')),
    room: roomOf(at(status, 'room')),
    failure: failureOf(at(status, 'failure')),
    isRepeating: at(status, 'isRepeating') === true,
    supervision: textAt(status, 'supervision'),
    firstCreatedAt: instant(status, 'firstCreatedAt'),
    endedAt: instant(status, 'endedAt'),
  };
}

/** A time that can be calculated with; null: there is none. */
function instant(value: unknown, name: string): string | null {
  return timeAt(value, name) === null ? null : textAt(value, name);
}

function adoptedOf(value: unknown): RunRecord['adopted'] {
  const attempt = numberAt(value, 'attempt');
  return attempt === null ? null : { attempt, uids: textsAt(value, 'uids') };
}

function attemptOf(value: unknown): readonly AttemptRecord[] {
  const number = numberAt(value, 'number');
  if (number === null) return [];
  return [
    {
      number,
      pod: textAt(value, 'pod'),
      createdAt: instant(value, 'createdAt'),
      scheduledAt: instant(value, 'scheduledAt'),
      startedAt: instant(value, 'startedAt'),
      resumedAt: instant(value, 'resumedAt'),
      detectedAt: instant(value, 'detectedAt'),
      tornDownAt: instant(value, 'tornDownAt'),
      end: endOf(at(value, 'end')),
      placement: placementOf(textAt(value, 'placement')),
      placementReason: textAt(value, 'placementReason'),
    },
  ];
}

function placementOf(text: string | null): Placement | null {
  return text === 'spot' || text === 'on-demand' ? text : null;
}

function endOf(value: unknown): AttemptEndRecord | null {
  const cause = textAt(value, 'cause');
  if (cause === null || !Object.hasOwn(END_CAUSES, cause)) return null;
  return {
    cause: cause as EndCause,
    pod: textAt(value, 'pod'),
    node: textAt(value, 'node'),
    nodePool: textAt(value, 'nodePool'),
    zone: textAt(value, 'zone'),
    machineType: textAt(value, 'machineType'),
    exitCode: numberAt(value, 'exitCode'),
    lostSteps: numberAt(value, 'lostSteps'),
    lostSeconds: numberAt(value, 'lostSeconds'),
    accelerators: numberAt(value, 'accelerators') ?? 0,
  };
}

function replacementOf(value: unknown): readonly Replacement[] {
  const [role, index] = [textAt(value, 'role'), numberAt(value, 'index')];
  const [lostAt, notBefore] = [instant(value, 'lostAt'), instant(value, 'notBefore')];
  if (role === null || index === null || lostAt === null || notBefore === null) return [];
  return [{ role, index, uid: textAt(value, 'uid'), lostAt, notBefore }];
}

function budgetsOf(value: unknown): Budgets {
  const count = (name: string): number => numberAt(value, name) ?? 0;
  const same = at(value, 'same');
  const times = numberAt(same, 'times');
  return {
    ...FULL_BUDGETS,
    errors: count('errors'),
    doubts: count('doubts'),
    inARow: count('inARow'),
    same: times === null ? null : { times, trace: traceOf(at(same, 'trace')) },
    furthestStep: numberAt(value, 'furthestStep'),
    interruptions: count('interruptions'),
  };
}

/** An empty line is a line: an empty log, and not an unread one. */
function traceOf(value: unknown): ErrorTrace {
  const line = at(value, 'line');
  return { exitCode: numberAt(value, 'exitCode'), line: typeof line === 'string' ? line : null };
}

function progressOf(value: unknown): ProgressRecord {
  return {
    step: numberAt(value, 'step'),
    lastGoodStep: numberAt(value, 'lastGoodStep'),
    sealedAt: instant(value, 'sealedAt'),
    steppedAt: instant(value, 'steppedAt'),
    accelerators: numberAt(value, 'accelerators'),
    loss: numberAt(value, 'loss'),
    trial: textAt(value, 'trial'),
    unsavedAcceleratorSeconds: numberAt(value, 'unsavedAcceleratorSeconds'),
    saveSeconds: numberAt(value, 'saveSeconds'),
    reportedAt: instant(value, 'reportedAt'),
  };
}

function totalsOf(value: unknown): Totals {
  const sum = (name: string): number => numberAt(value, name) ?? 0;
  return {
    lostSteps: sum('lostSteps'),
    lostAcceleratorSeconds: sum('lostAcceleratorSeconds'),
    trainedSeconds: sum('trainedSeconds'),
    lostSeconds: sum('lostSeconds'),
    goodputPercent: numberAt(value, 'goodputPercent'),
  };
}

function roomOf(value: unknown): RoomRecord | null {
  const stage = ROOM_STAGES.find((each) => each === textAt(value, 'stage'));
  const [pod, podUid, node] = [textAt(value, 'pod'), textAt(value, 'podUid'), textAt(value, 'node')];
  const [askedAt, deadlineAt] = [instant(value, 'askedAt'), instant(value, 'deadlineAt')];
  if (stage === undefined || pod === null || podUid === null || node === null || askedAt === null || deadlineAt === null) return null;
  return {
    stage,
    pod,
    podUid,
    node,
    priority: numberAt(value, 'priority') ?? 0,
    pods: at(value, 'pods') == null ? null : textsAt(value, 'pods'),
    askedAt,
    deadlineAt,
    savedAt: instant(value, 'savedAt'),
    savedStep: numberAt(value, 'savedStep'),
    leftAt: instant(value, 'leftAt'),
    backAt: instant(value, 'backAt'),
    reason: textAt(value, 'reason'),
  };
}

function failureOf(value: unknown): FailureRecord | null {
  const [attempt, pod] = [numberAt(value, 'attempt'), textAt(value, 'pod')];
  if (!isFields(value) || attempt === null || pod === null) return null;
  return { attempt, pod, exitCode: numberAt(value, 'exitCode'), log: Array.isArray(value['log']) ? textsAt(value, 'log') : null };
}
