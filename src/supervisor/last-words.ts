import { exitOfRun, type RunEnd, type RunExit } from '../domain/exit-contract.ts';
import type { Cause } from '../domain/notice.ts';
import type { TerminationMessage } from '../domain/termination-message.ts';
import type { FlushOutcome } from './ending.ts';
import type { Life, LifeOptions } from './life.ts';
import { labelOf, type Notices } from './notices.ts';
import { tellSuccessor } from './tell-successor.ts';

interface Ended extends Pick<LifeOptions, 'store' | 'attempt' | 'book'> {
  readonly life: Life;
  readonly notices: Notices;
}

/** What is known at the notice, before anything can go wrong. */
export function leaveProvisional(ended: Ended): void {
  const { notices, life } = ended;
  const cause = notices.first === null ? 'told to end' : labelOf(notices.first);
  const good = life.measured.lastGoodStep;
  const sentence = `${cause}; ${good === null ? 'nothing is sealed yet' : `step ${good} is sealed`}`;
  leave(ended, { provisional: true, cause: notices.first?.cause ?? null, exitCode: null, end: null, trainer: null, flush: null, sentence });
}

/** The end of an attempt (`flush` is null where nobody knows what became of it): in the ledger, in the termination message, and for the attempt that follows. */
export function writeEnd(ended: Ended, end: RunEnd, flush: FlushOutcome | null): RunExit {
  const { book, life } = ended;
  const exit = exitOfRun(end);
  const { trainer, saidFinished } = end;
  const code = trainer !== null && 'code' in trainer ? trainer.code : null;
  const signal = trainer !== null && 'signal' in trainer ? trainer.signal : null;
  book.record({ kind: 'trainer-ended', code, signal, saidFinished });
  const isFinished = exit.kind === 'finished';
  const sentence = isFinished ? `${exit.sentence}${lossSentence(life)}` : exit.sentence;
  const facts = { ...factsOf(ended, isFinished), sentence };
  book.record({
    kind: 'attempt-ended',
    exitCode: exit.code,
    end: exit.kind,
    cause: causeOf(ended, end),
    accelerators: life.worldSize,
    ...facts,
  });
  leave(ended, { provisional: false, cause: causeOf(ended, end), exitCode: exit.code, end: exit.kind, trainer, flush, sentence });
  if (!isFinished) book.say(`${sentence}; ${lastGoodSentence(life)}`);
  else if (life.lostSave === null) book.say(`${sentence}${unsavedSentence(life)}`);
  else book.shout(`warning: ${sentence}; ${lastGoodSentence(life)}`);
  tellSuccessor(ended, null);
  return exit;
}

function causeOf({ notices }: Ended, { peer }: RunEnd): Cause | null {
  return notices.first?.cause ?? peer?.cause ?? null;
}

/** Perhaps nobody needs them; who forgot the last save should know. */
function unsavedSentence({ measured: { lostSteps, lastGoodStep } }: Life): string {
  if (lostSteps === null || lostSteps === 0) return '';
  return lastGoodStep === null ? '; nothing is sealed' : `; what came after step ${lastGoodStep} is in no checkpoint`;
}

/** What was to be saved last and is not: also a run that is finished may need it. */
function lossSentence({ lostSave }: Life): string {
  return lostSave === null ? '' : `; the save of step ${lostSave.step} was lost: ${lostSave.reason}`;
}

function lastGoodSentence(life: Life): string {
  const { lastGoodStep } = life.measured;
  const lostSteps = lostStepsOf(life);
  if (lastGoodStep === null) return 'nothing is sealed';
  return `the last good step is ${lastGoodStep}${(lostSteps ?? 0) > 0 ? `, ${lostSteps} later ones are not saved` : ''}`;
}

function factsOf({ life, store }: Ended, isFinished: boolean) {
  const { measured, lostSave } = life;
  // Who never spoke with us, and whose saves nobody sees, may have lost nothing or everything.
  if (!isFinished && life.isUnknown) return { step: null, lastGoodStep: measured.lastGoodStep, lostMs: null, lostSteps: null };
  // What a finished run has not saved it did not mean to, unless it tried.
  const isNothingLost = isFinished && lostSave === null;
  const nowMs = store.clock.monotonic();
  const unsavedMs = lostSave === null ? measured.unsavedMs(nowMs) : Math.max(measured.unsavedMs(nowMs), measured.lastGoodAgeMs(nowMs) ?? 0);
  const [lostMs, lostSteps] = isNothingLost ? [0, 0] : [unsavedMs, lostStepsOf(life)];
  return { step: measured.step, lastGoodStep: measured.lastGoodStep, lostMs, lostSteps };
}

/** Progress is told with some delay: a save may be further. */
function lostStepsOf({ measured, lostSave }: Life): number | null {
  const { lostSteps, lastGoodStep } = measured;
  return lostSave === null ? lostSteps : Math.max(lostSteps ?? 0, lostSave.step - (lastGoodStep ?? -1));
}

function leave(
  ended: Ended,
  words: Pick<TerminationMessage, 'provisional' | 'cause' | 'exitCode' | 'end' | 'trainer' | 'flush' | 'sentence'>,
): void {
  const { store, attempt, book, notices } = ended;
  book.leave({
    run: store.run,
    attempt: attempt.attempt,
    node: book.node,
    atMs: store.clock.now(),
    deadlineMs: notices.deadline?.deadlineMs ?? null,
    accelerators: ended.life.worldSize,
    ...factsOf(ended, words.end === 'finished'),
    ...words,
  });
}
