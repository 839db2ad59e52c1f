import { exitOfRun, type RunEnd, type RunExit, type TrainerExit } from '../../domain/exit/exit-contract.ts';
import type { Cause } from '../../domain/grace/notice.ts';
import type { TerminationMessage } from '../../domain/exit/termination-message.ts';
import type { FlushOutcome } from '../ending/ending.ts';
import type { TrainerSession } from '../session/trainer-session.ts';
import type { SessionOptions } from '../session/session-options.ts';
import { labelOf, type Notices } from '../notices/notices.ts';
import { publishDeadline } from '../ending/publish-deadline.ts';

interface Ended extends Pick<SessionOptions, 'store' | 'attempt' | 'log'> {
  readonly session: TrainerSession;
  readonly notices: Notices;
}

/** Writes a provisional termination message at the notice, before anything can go wrong. */
export function leaveProvisional(ended: Ended): void {
  const { notices, session } = ended;
  const cause = notices.first === null ? 'told to end' : labelOf(notices.first);
  const good = session.measured.lastGoodStep;
  const sentence = `${cause}; ${good === null ? 'nothing is sealed yet' : `step ${good} is sealed`}`;
  leave(ended, { provisional: true, cause: notices.first?.cause ?? null, exitCode: null, end: null, trainer: null, flush: null, sentence });
}

/**
 * Records the end of the trainer as soon as it is known: other nodes wait for this record, and must
 * not wait for each other's end.
 */
export function recordTrainerEnd({ session, log }: Pick<Ended, 'session' | 'log'>, trainer: TrainerExit): void {
  const code = 'code' in trainer ? trainer.code : null;
  const signal = 'signal' in trainer ? trainer.signal : null;
  log.record({ kind: 'trainer-ended', code, signal, saidFinished: session.saidFinished });
}

/**
 * Reports the end of an attempt in the ledger and in the termination message, and for the next
 * attempt. `flush` is null when its outcome is unknown.
 */
export function writeEnd(ended: Ended, end: RunEnd, flush: FlushOutcome | null): RunExit {
  const { log, session } = ended;
  const exit = exitOfRun(end);
  const { trainer } = end;
  const isFinished = exit.kind === 'finished';
  const sentence = isFinished ? `${exit.sentence}${lossSentence(session)}` : exit.sentence;
  const facts = { ...factsOf(ended, isFinished), sentence };
  log.record({
    kind: 'attempt-ended',
    exitCode: exit.code,
    end: exit.kind,
    cause: causeOf(ended, end),
    accelerators: session.worldSize,
    ...facts,
  });
  const whole = `${sentence}${keptSentence(session, isFinished)}`;
  leave(ended, { provisional: false, cause: causeOf(ended, end), exitCode: exit.code, end: exit.kind, trainer, flush, sentence: whole });
  if (isFinished && session.lostSave !== null) log.shout(`warning: ${whole}`);
  else log.say(whole);
  publishDeadline(ended, null);
  return exit;
}

function causeOf({ notices }: Ended, { peer }: RunEnd): Cause | null {
  return notices.first?.cause ?? peer?.cause ?? null;
}

/**
 * Returns what is sealed and what is lost, so that the end report shows where the next attempt
 * starts.
 */
function keptSentence(session: TrainerSession, isFinished: boolean): string {
  return isFinished && session.lostSave === null ? unsavedSentence(session) : `; ${lastGoodSentence(session)}`;
}

/** A user who forgot the last save should see this, even if those steps are not needed. */
function unsavedSentence({ measured: { lostSteps, lastGoodStep } }: TrainerSession): string {
  if (lostSteps === null || lostSteps === 0) return '';
  return lastGoodStep === null ? '; nothing is sealed' : `; no checkpoint holds the work after step ${lastGoodStep}`;
}

/** The last save was lost; a finished run may need it too. */
function lossSentence({ lostSave }: TrainerSession): string {
  return lostSave === null ? '' : `; the save of step ${lostSave.step} was lost: ${lostSave.reason}`;
}

function lastGoodSentence(session: TrainerSession): string {
  const { lastGoodStep } = session.measured;
  const lostSteps = lostStepsOf(session);
  if (lastGoodStep === null) return 'nothing is sealed';
  return `the last good step is ${lastGoodStep}${notSaved(lostSteps ?? 0, session.catchUp())}`;
}

/** How many steps after the last good one are lost. */
export function notSaved(steps: number, isExact: boolean): string {
  if (steps === 0) return '';
  return `, ${isExact ? '' : 'at least '}${steps === 1 ? '1 later one is' : `${steps} later ones are`} not saved`;
}

function factsOf({ session, store }: Ended, isFinished: boolean) {
  const isExact = session.catchUp();
  const { measured, lostSave } = session;
  // A trainer that never attached, with no watched saves, may have lost nothing or everything.
  if (!isFinished && session.isUnknown) return { step: null, lastGoodStep: measured.lastGoodStep, lostMs: null, lostSteps: null };
  // The step of a finished framework without the SDK is known from its last save alone.
  const step = measured.step ?? (isFinished && measured.isWatched ? measured.lastGoodStep : null);
  const facts = { step, lastGoodStep: measured.lastGoodStep };
  // A finished run did not mean to save the rest, unless a save was tried and lost.
  if (isFinished && lostSave === null) return { ...facts, lostMs: 0, lostSteps: 0 };
  const nowMs = store.clock.monotonic();
  const unsavedMs = lostSave === null ? measured.unsavedMs(nowMs) : Math.max(measured.unsavedMs(nowMs), measured.lastGoodAgeMs(nowMs) ?? 0);
  if (isExact || measured.isWatched) return { ...facts, lostMs: unsavedMs, lostSteps: lostStepsOf(session) };
  // The trainer may have made more steps than it reported.
  return { ...facts, lostMs: unsavedMs > 0 ? unsavedMs : null, lostSteps: null };
}

/** Progress is reported with a delay, so a lost save may be at a later step. */
function lostStepsOf({ measured, lostSave }: TrainerSession): number | null {
  const { lostSteps, lastGoodStep } = measured;
  return lostSave === null ? lostSteps : Math.max(lostSteps ?? 0, lostSave.step - (lastGoodStep ?? -1));
}

function leave(
  ended: Ended,
  words: Pick<TerminationMessage, 'provisional' | 'cause' | 'exitCode' | 'end' | 'trainer' | 'flush' | 'sentence'>,
): void {
  const { store, attempt, log, notices } = ended;
  log.leave({
    run: store.run,
    attempt: attempt.attempt,
    node: log.node,
    atMs: store.clock.now(),
    deadlineMs: notices.deadline?.deadlineMs ?? null,
    accelerators: ended.session.worldSize,
    ...factsOf(ended, words.end === 'finished'),
    ...words,
  });
}
