import type { EndCause } from '../../domain/causes/catalogue.ts';
import type { Placement } from '../../domain/gang/placement.ts';
import { type Budgets, FULL_BUDGETS } from '../../domain/gang/budgets.ts';

/** What a run does now. */
export const RUN_PHASES = [
  'Pending',
  'Starting',
  'Running',
  'Restarting',
  'BackingOff',
  'Suspended',
  'Waiting',
  'Succeeded',
  'Failed',
  'Invalid',
  'Deleted',
] as const;
/** One of {@link RUN_PHASES}. */
export type RunPhase = (typeof RUN_PHASES)[number];

/** An attempt of a run. Times are RFC 3339 texts; what has not happened is null. */
export interface AttemptRecord {
  readonly number: number;
  /** The pod of a Job of Kubernetes that the attempt is; null: the operator made a gang for it. */
  readonly pod: string | null;
  /** When the operator began to create its pods. */
  readonly createdAt: string | null;
  /** When all its pods had a node. */
  readonly scheduledAt: string | null;
  /** When all its pods ran. */
  readonly startedAt: string | null;
  /** When its first step was reported. */
  readonly resumedAt: string | null;
  /** When its end was noticed. */
  readonly detectedAt: string | null;
  /** When its last pod was gone. */
  readonly tornDownAt: string | null;
  readonly end: AttemptEndRecord | null;
  /** The machines it runs on; null: any. */
  readonly placement: Placement | null;
  /** Why it runs there; null: nothing was chosen. */
  readonly placementReason: string | null;
}

/** Why an attempt ended, and what that cost. */
export interface AttemptEndRecord {
  readonly cause: EndCause;
  /** The first pod that was lost; null: none was, as when a job is suspended. */
  readonly pod: string | null;
  readonly node: string | null;
  readonly nodePool: string | null;
  readonly zone: string | null;
  readonly machineType: string | null;
  readonly exitCode: number | null;
  /** Steps that have to be trained again; null: unknown. */
  readonly lostSteps: number | null;
  readonly lostSeconds: number | null;
  readonly accelerators: number;
}

/** A replica that is replaced alone, while the others go on. */
export interface Replacement {
  readonly role: string;
  readonly index: number;
  /** The pod that was lost; null: it vanished unseen. */
  readonly uid: string | null;
  readonly lostAt: string;
  /** Its successor is not created before this time. */
  readonly notBefore: string;
}

/** What rank 0 last reported. Clocks are times, so that an idle run causes no writes. */
export interface ProgressRecord {
  readonly step: number | null;
  readonly lastGoodStep: number | null;
  /** When the state of the last good step was taken. */
  readonly sealedAt: string | null;
  /** When the step last changed. */
  readonly steppedAt: string | null;
  readonly accelerators: number | null;
  /** The last loss that the trainer reported. */
  readonly loss: number | null;
  /** The name of the trial of a sweep, which holds its parameters; null: it is none. */
  readonly trial: string | null;
  /** The work that a kill would have lost when this was written, in seconds of one accelerator. */
  readonly unsavedAcceleratorSeconds: number | null;
  /** The time that a save takes at most, 19 times out of 20, as the supervisor predicts it. */
  readonly saveSeconds: number | null;
  /** When this was written: not more often than every 30 seconds. */
  readonly reportedAt: string | null;
}

/** The last words of the first rank that failed. */
export interface FailureRecord {
  readonly attempt: number;
  readonly pod: string;
  readonly exitCode: number | null;
  /** Null: the log could not be read. */
  readonly log: readonly string[] | null;
}

/** Sums over all attempts that have ended. */
export interface Totals {
  readonly lostSteps: number;
  readonly lostAcceleratorSeconds: number;
  /** From the start of the whole gang to the end of the attempt. */
  readonly trainedSeconds: number;
  /** Of that, the part that had to be trained again. */
  readonly lostSeconds: number;
  /** Trained and kept, in percent of the time since the first pod was created; null: unknown. */
  readonly goodputPercent: number | null;
}

/** How far a gang has come in making room for a pod. */
export const ROOM_STAGES = ['asked', 'leaving', 'away', 'back', 'refused', 'called-off'] as const;
/**
 * One of {@link ROOM_STAGES}. `asked`: it saves. `leaving`: its pods are evicted. `away`: it waits
 * until all of it fits. The others are ends.
 */
export type RoomStage = (typeof ROOM_STAGES)[number];

/** The last time that a gang was asked to make room. What has not happened is null. */
export interface RoomRecord {
  readonly stage: RoomStage;
  /** The pod that asked for room: `namespace/name`. */
  readonly pod: string;
  readonly podUid: string;
  /** The node on which the room is made. */
  readonly node: string;
  /** The highest priority of the gang's pods. */
  readonly priority: number;
  /** The only pods that leave, by name; null: the whole gang does. */
  readonly pods: readonly string[] | null;
  readonly askedAt: string;
  /** The gang leaves at this time, saved or not. */
  readonly deadlineAt: string;
  readonly savedAt: string | null;
  readonly savedStep: number | null;
  readonly leftAt: string | null;
  readonly backAt: string | null;
  /** Why the gang stays although it was asked. */
  readonly reason: string | null;
}

/** Everything that the operator must remember about a run: the status of its TrainingRun. */
export interface RunRecord {
  readonly phase: RunPhase;
  /** Why the run is in this phase, in one sentence. */
  readonly message: string;
  /** The number of the current attempt; it only grows. */
  readonly attempt: number;
  /** The last attempts, the current one at the end. */
  readonly attempts: readonly AttemptRecord[];
  /** For each role how many of its first indexes have been seen in this attempt. */
  readonly seen: Readonly<Record<string, number>>;
  readonly replacing: readonly Replacement[];
  /**
   * The uids of pods that the operator deletes because the job has become smaller. Their ends cost
   * nothing, also where their places are wanted again.
   */
  readonly scaledDown: readonly string[];
  /**
   * The pods of another controller that the run has adopted, and the attempt that they belong to;
   * null: it has adopted none.
   */
  readonly adopted: { readonly attempt: number; readonly uids: readonly string[] } | null;
  /** No pod of the current attempt is created before this time; null: at once. */
  readonly notBefore: string | null;
  readonly budgets: Budgets;
  /**
   * The budgets before the last attempt failed, until the next one has pods. They come back if one
   * of its nodes turns out to be lost; null: nothing would.
   */
  readonly refund: Budgets | null;
  readonly progress: ProgressRecord;
  readonly totals: Totals;
  /** Null: it was never asked to make room. */
  readonly room: RoomRecord | null;
  readonly failure: FailureRecord | null;
  /** The same error came again and again, and no limit ends the run. */
  readonly isRepeating: boolean;
  /**
   * `SUPERVISED`: the supervisor ran in every pod. Otherwise the codes of the reasons why the pods
   * run without it, separated by commas; null: nobody asked for it, or no pod has tried it yet.
   */
  readonly supervision: string | null;
  /** When the first pod of the run was created. */
  readonly firstCreatedAt: string | null;
  /** When the job ended or was deleted; the TrainingRun is kept for a while after that. */
  readonly endedAt: string | null;
}

const MOST_ATTEMPTS = 20;
const NO_PROGRESS: ProgressRecord = {
  step: null,
  lastGoodStep: null,
  sealedAt: null,
  steppedAt: null,
  accelerators: null,
  loss: null,
  trial: null,
  unsavedAcceleratorSeconds: null,
  saveSeconds: null,
  reportedAt: null,
};

/** An attempt of which nothing has happened. */
export function freshAttempt(number: number): AttemptRecord {
  const none = { createdAt: null, scheduledAt: null, startedAt: null, resumedAt: null, detectedAt: null, tornDownAt: null };
  return { number, pod: null, ...none, end: null, placement: null, placementReason: null };
}

/** The record of a run before its first attempt. */
export const FIRST_RECORD: RunRecord = {
  phase: 'Pending',
  message: 'no pod was created yet',
  attempt: 1,
  attempts: [freshAttempt(1)],
  seen: {},
  replacing: [],
  scaledDown: [],
  adopted: null,
  notBefore: null,
  budgets: FULL_BUDGETS,
  refund: null,
  progress: NO_PROGRESS,
  totals: { lostSteps: 0, lostAcceleratorSeconds: 0, trainedSeconds: 0, lostSeconds: 0, goodputPercent: null },
  room: null,
  failure: null,
  isRepeating: false,
  supervision: null,
  firstCreatedAt: null,
  endedAt: null,
};

/** The current attempt. */
export function currentAttempt({ attempt, attempts }: RunRecord): AttemptRecord {
  return attempts.find(({ number }) => number === attempt) ?? freshAttempt(attempt);
}

/** Whether the gang saves, leaves or waits to make room for a pod. */
export function isMakingRoom({ room }: Pick<RunRecord, 'room'>): boolean {
  return room !== null && (room.stage === 'asked' || room.stage === 'leaving' || room.stage === 'away');
}

/** Changes one attempt of the record, which has one of that number. */
export function withAttempt(record: RunRecord, number: number, change: Partial<AttemptRecord>): RunRecord {
  return { ...record, attempts: record.attempts.map((each) => (each.number === number ? { ...each, ...change } : each)) };
}

/** Trained and kept until then, in percent of the time since the first pod was created. */
export function goodputOf(
  { trainedSeconds, lostSeconds }: Pick<Totals, 'trainedSeconds' | 'lostSeconds'>,
  firstCreatedAt: string | null,
  untilMs: number,
): number | null {
  const elapsed = firstCreatedAt === null ? 0 : (untilMs - Date.parse(firstCreatedAt)) / 1000;
  return elapsed > 0 ? Math.round((100 * (trainedSeconds - lostSeconds)) / elapsed) : null;
}

/** Begins the next attempt. Nothing of the one before it lives on but what the run remembers. */
export function withNextAttempt(record: RunRecord, notBefore: string | null): RunRecord {
  const attempt = record.attempt + 1;
  const attempts = [...record.attempts, freshAttempt(attempt)].slice(-MOST_ATTEMPTS);
  return { ...record, attempt, attempts, seen: {}, replacing: [], scaledDown: [], notBefore, refund: null };
}
