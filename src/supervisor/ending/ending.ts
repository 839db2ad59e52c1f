import { formatDuration } from '../../core/duration.ts';
import { type Deadline, explainDeadline } from '../../domain/grace/effective-grace.ts';
import { decideFlush, type FlushDecision, type FlushFacts, RESERVE_MS, type StagedSave } from '../../domain/grace/flush-decision.ts';
import type { HangRules } from '../../domain/hang/hang.ts';
import { CAUSES, type Notice } from '../../domain/grace/notice.ts';
import type { Prediction } from '../../domain/grace/prediction.ts';
import type { TerminationMessage } from '../../domain/exit/termination-message.ts';
import { tryOrReport } from '../base/try-or-report.ts';
import type { RunLog } from '../base/run-log.ts';
import { judge } from '../hang/watch-progress.ts';
import { untilHopeless } from './flush-watch.ts';
import type { TrainerSession } from '../session/trainer-session.ts';
import type { SessionOptions } from '../session/session-options.ts';
import { labelOf, type Notices } from '../notices/notices.ts';
import type { SaveOutcome } from '../session/save-record.ts';
import { publishDeadline } from './publish-deadline.ts';
import type { Trainer } from '../process/trainer.ts';

/** How the flush after a notice ended, as the termination message reports it. */
export type FlushOutcome = NonNullable<TerminationMessage['flush']>;
type MadeOrNot = Exclude<FlushOutcome, 'none'>;

/** What the supervisor needs to end a trainer after a notice. */
export interface EndingOptions extends Pick<SessionOptions, 'store' | 'attempt' | 'log'> {
  readonly session: TrainerSession;
  readonly trainer: Trainer;
  readonly notices: Notices;
  /**
   * When the supervisor takes the trainer to hang and asks it for no flush; null: it does not look
   * for hangs.
   */
  readonly rules: HangRules | null;
  /** Ranks of other nodes take part in each save. */
  readonly isOneOfMany: boolean;
  /** Resolves when the trainer has ended and the supervisor has read all of its messages. */
  readonly gone: Promise<void>;
  /** Writes a provisional termination message, before anything can go wrong. */
  readonly leaveWord: () => void;
  /** Aborted just before the supervisor reports the end; nothing else is reported after that. */
  readonly told: AbortSignal;
}

type Deciding = Pick<EndingOptions, 'session' | 'store' | 'log' | 'notices' | 'rules' | 'isOneOfMany'>;

/**
 * The supervisor kills the trainer this long before the deadline, to keep time for the last report.
 */
const KILL_BEFORE_MS = RESERVE_MS / 2;
/**
 * The most saves in one ending: the staged one, one that the trainer began by itself, and the
 * flush.
 */
const ROUNDS = 3;
/**
 * The least share of a seal that is expected to remain: syncs and the commit follow the last byte.
 */
const LAST_SHARE = 0.1;

/**
 * Ends the trainer after a notice, and resolves when the trainer's own process has ended. With the
 * SDK attached, the supervisor sends no signal until the flush has ended or was refused. An earlier
 * SIGTERM to data-loader workers or to a launcher would destroy the flush. Without the SDK the
 * supervisor signals the trainer at once. A finished trainer has nothing to save, and may use all
 * of the grace to exit by itself. The supervisor kills the processes that are left shortly before
 * the deadline.
 */
export async function endTrainer(notice: Notice, options: EndingOptions): Promise<FlushOutcome> {
  const { session, trainer, notices, log, leaveWord } = options;
  leaveWord();
  const decision = announce(options);
  publish(options);
  notices.follow(() => tryOrReport(log, () => tellNearer(options)), options.told);
  const over = new AbortController();
  void options.gone.then(() => over.abort());
  const outcome = decision === null ? 'none' : await flush(options, decideAnew(options, decision), over.signal);
  if (!session.saidFinished) trainer.tell(session.ranks.count === 0 && outcome === 'none' ? signalFor(notice) : 'SIGTERM');
  await within(notices.untilDeadline(KILL_BEFORE_MS, over.signal));
  if (trainer.end === null) {
    log.warn('the trainer still lives shortly before the deadline and is killed');
    await trainer.killAll(options.store.clock);
    await options.gone;
  }
  return outcome;
}

/**
 * Reports the deadline and the decision for the time until then. The ledger comes first, because a
 * slow reader of standard error may block the supervisor.
 */
export function announce(options: Deciding): FlushDecision | null {
  const { session, store, log, notices } = options;
  const { deadline } = notices;
  if (deadline !== null) recordDeadline(log, deadline);
  const decision = session.ranks.count === 0 || session.saidFinished ? null : decide(options);
  if (decision !== null) recordDecision(log, decision);
  if (deadline !== null) log.say(explainDeadline(deadline, store.clock.now()));
  if (decision !== null) log.say(decision.sentence);
  return decision;
}

/**
 * Reports a deadline that has come nearer after it was announced. The waits for the deadline follow
 * it by themselves. The successor's file is left alone, because writing it would wait for a disk
 * that is busy with a flush. The later deadline in that file does no harm, since the end is
 * published, too.
 */
function tellNearer(options: EndingOptions): void {
  const { store, log, notices, leaveWord } = options;
  const { deadline } = notices;
  if (deadline === null) return;
  leaveWord();
  recordDeadline(log, deadline);
  log.say(explainDeadline(deadline, store.clock.now()));
}

function recordDeadline(log: RunLog, { deadlineMs, graceMs, confidence, reasons }: Deadline): void {
  log.record({ kind: 'deadline', deadlineMs, graceMs, confidence, reasons });
}

/**
 * Publishes the deadline, so that a replacement of this attempt knows how long to wait. Publishing
 * waits for the disk, so it comes after the decision.
 */
function publish(options: EndingOptions): void {
  const { deadline } = options.notices;
  if (deadline !== null) publishDeadline(options, deadline.deadlineMs);
}

function signalFor({ cause }: Notice): NodeJS.Signals {
  return cause === 'ctrl-c' ? 'SIGINT' : 'SIGTERM';
}

async function flush(options: EndingOptions, first: FlushDecision, over: AbortSignal): Promise<MadeOrNot> {
  const { session, store, log, notices } = options;
  const noticedMs = store.clock.monotonic();
  let outcome: MadeOrNot = 'refused';
  let decision = first;
  // The times of the step that led to the outcome. Steps before or after it, and refusals, do not
  // count.
  let times = { tookMs: 0, predictedMs: medianOf(decision) };
  for (let round = 1; decision.outcome !== 'keep-last-good'; round++) {
    // A save starts only after the seal that is in progress.
    const isFlush = decision.outcome === 'flush' && session.coordinator.phase !== 'sealing';
    const startedMs = store.clock.monotonic();
    const predictedMs = isFlush ? medianOf(decision) : medianOfRest(session);
    outcome = isFlush ? await makeFlush(options, over) : await sealStaged(options, over, noticedMs);
    times = { tookMs: store.clock.monotonic() - startedMs, predictedMs };
    if (outcome !== 'staged-sealed' || round === ROUNDS || over.aborted) break;
    // The staged save is safe; the rest of the time may be enough for a flush.
    decision = tell(log, decide(options));
  }
  const allMs = store.clock.monotonic() - noticedMs;
  const leftMs = notices.deadline === null ? null : notices.deadline.deadlineMs - store.clock.now();
  const sentence = `flush ${outcome} after ${formatDuration(allMs)}`;
  log.record({ kind: 'flush-ended', outcome, step: session.measured.lastGoodStep, ...times, leftMs, sentence });
  return outcome;
}

function medianOf({ numbers }: FlushDecision): number | null {
  return numbers.measured ? numbers.medianMs : null;
}

/** The predicted median for the rest of the seal; null: no seal was ever measured. */
function medianOfRest(session: TrainerSession): number | null {
  return session.measured.seal === null ? null : sealRest(session).medianMs;
}

/** Decides again, because a slow disk may have left too little time for the first decision. */
function decideAnew(options: EndingOptions, before: FlushDecision): FlushDecision {
  const decision = decide(options);
  return decision.outcome === before.outcome ? before : tell(options.log, decision);
}

function tell(log: RunLog, decision: FlushDecision): FlushDecision {
  recordDecision(log, decision);
  log.say(decision.sentence);
  return decision;
}

function recordDecision(log: RunLog, { outcome, sentence, numbers }: FlushDecision): void {
  log.record({ kind: 'decision', outcome, sentence, numbers });
}

function decide(options: Deciding): FlushDecision {
  return decideFlush(flushFacts(options));
}

/** The facts that the decision about a flush is made from, as of now. */
export function flushFacts(options: Deciding): FlushFacts {
  const { session, store, notices } = options;
  const { measured, coordinator } = session;
  const nowMs = store.clock.now();
  const { deadlineMs, confidence } = notices.deadline ?? { deadlineMs: nowMs, confidence: 'guess' as const };
  return {
    nowMs,
    deadlineMs,
    confidence,
    step: measured.step,
    lastGoodStep: measured.lastGoodStep,
    unsavedMs: measured.unsavedMs(store.clock.monotonic()),
    stepRest: measured.stepRest,
    busyMs: measured.busyMs(store.clock.monotonic()),
    save: measured.write,
    seal: measured.seal,
    agreementMs: session.ranks.agreementMs,
    staged: coordinator.phase === 'sealing' ? stagedSave(session) : null,
    refusal: refusalOf(options),
  };
}

/** Why the supervisor asks no rank for a flush, or null. */
function refusalOf({ session, store, rules, isOneOfMany }: Deciding): string | null {
  const { measured, coordinator } = session;
  // Only a missing step proves that nothing was done. A step equal to the last good one does not,
  // because progress arrives with a delay.
  if (measured.step === null && coordinator.phase === 'idle') return 'no step was finished yet';
  // Each node would ask for a step of its own, and wait for ranks that get no request. A save that
  // the ranks write already is the flush.
  const isIdle = coordinator.phase === 'idle' || coordinator.phase === 'tidying';
  if (isOneOfMany && isIdle && !session.ranks.canAgree) return 'the ranks of the other nodes cannot be asked for the same step';
  const hang = rules === null ? null : judge({ session, rules, clock: store.clock });
  return hang?.isHung === true ? `the trainer hangs: ${hang.sentence}` : null;
}

/** The save that is being sealed, with the predicted rest of the seal. */
export function stagedSave(session: TrainerSession): StagedSave {
  return { step: session.coordinator.step ?? 0, seal: sealRest(session) };
}

/**
 * Predicts how long the rest of the seal takes; zero when no seal was ever measured, because this
 * one is already under way.
 */
function sealRest({ measured: { seal }, coordinator: { progress } }: TrainerSession): Prediction {
  if (seal === null) return { medianMs: 0, p95Ms: 0, samples: 0 };
  const share = progress?.kind === 'sealing' && progress.total > 0 ? 1 - progress.done / progress.total : 1;
  const rest = Math.max(LAST_SHARE, share);
  return { medianMs: seal.medianMs * rest, p95Ms: seal.p95Ms * rest, samples: seal.samples };
}

async function makeFlush(options: EndingOptions, over: AbortSignal): Promise<MadeOrNot> {
  const { session } = options;
  const whenSealed = isBehind(session) ? 'staged-sealed' : 'made';
  const saved = untilSaved(options, over);
  // A save that the ranks are writing is the flush.
  if (session.coordinator.phase === 'idle' || session.coordinator.phase === 'tidying') session.ask('notice');
  const outcome = await saved;
  if (outcome !== null) return outcome.isSealed ? whenSealed : 'missed';
  return finishOrAbandon(options, over, whenSealed);
}

/**
 * True for a save that is written in the background while the trainer trains on. It does not
 * contain the steps made since.
 */
function isBehind({ coordinator, measured: { step } }: TrainerSession): boolean {
  return coordinator.phase === 'writing' && coordinator.step !== null && step !== null && step > coordinator.step;
}

async function sealStaged(options: EndingOptions, over: AbortSignal, noticedMs: number): Promise<MadeOrNot> {
  const outcome = await untilSaved(options, over);
  // A save that the trainer began by itself after the notice is as good as a requested one.
  if (outcome !== null) return outcome.isSealed ? (outcome.begunMs >= noticedMs ? 'made' : 'staged-sealed') : 'missed';
  return finishOrAbandon(options, over, 'staged-sealed');
}

/**
 * Ends the save after the deadline came or the trainer ended. A save that was handed over by then
 * is still sealed while there is time.
 */
async function finishOrAbandon(options: EndingOptions, over: AbortSignal, whenSealed: MadeOrNot): Promise<MadeOrNot> {
  const { session } = options;
  if (over.aborted && session.coordinator.phase === 'sealing') {
    const outcome = await untilSaved(options, new AbortController().signal);
    if (outcome !== null) return outcome.isSealed ? whenSealed : 'missed';
  }
  session.ranks.relax();
  session.coordinator.abandon('there was no time left for the save');
  return over.aborted ? 'missed' : 'abandoned';
}

/**
 * The outcome of the next save. Null when the time is up or too short for it, or when `over` is
 * aborted.
 */
async function untilSaved({ session, notices, store, log }: EndingOptions, over: AbortSignal): Promise<SaveOutcome | null> {
  const stop = new AbortController();
  const signal = AbortSignal.any([over, stop.signal]);
  const tooLate = [notices.untilDeadline(RESERVE_MS, signal), untilHopeless({ session, notices, store, log, signal })];
  try {
    return await firstOf(session.nextSave(), Promise.race(tooLate));
  } finally {
    stop.abort();
  }
}

/** The first result, or null when the bound was reached or cut short first. */
async function firstOf<T>(result: Promise<T>, bound: Promise<void>): Promise<T | null> {
  return Promise.race([
    result,
    bound.then(
      () => null,
      () => null,
    ),
  ]);
}

async function within(bound: Promise<void>): Promise<void> {
  try {
    await bound;
  } catch {
    // The trainer has ended, so the wait is over.
  }
}

/** Describes a notice in one sentence for the log. */
export function noticeSentence(notice: Notice): string {
  const { deadlineMs, atMs, detail, cause, terminating } = notice;
  const isAhead = deadlineMs !== null && !terminating && CAUSES[cause].terminating;
  const ahead = isAhead ? `; the deadline is in ${formatDuration(deadlineMs - atMs)}, and training continues until shortly before it` : '';
  return `notice: ${labelOf(notice)}${detail === null ? '' : ` (${detail})`}${ahead}`;
}
