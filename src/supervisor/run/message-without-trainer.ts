import { EXIT } from '../../core/exit-codes.ts';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError, toError } from '../../core/errors.ts';
import { exitCodeOf } from '../../core/lifecycle.ts';
import { exitOfRun, type RunExit, type TrainerExit } from '../../domain/exit/exit-contract.ts';
import type { TerminationMessage } from '../../domain/exit/termination-message.ts';
import type { RunLog } from '../base/run-log.ts';
import { labelOf, type Notices } from '../notices/notices.ts';

interface BetweenWorld {
  readonly log: RunLog;
  readonly notices: Pick<Notices, 'first' | 'deadline'>;
  readonly clock: Clock;
}

/**
 * Writes the termination message while no trainer runs: before the first, between two, or when none
 * is started at all. A trainer session writes its own (last-words.ts), and its facts about steps
 * are kept.
 */
export class MessageWithoutTrainer {
  readonly #world: BetweenWorld;
  #run: string | null = null;
  #isOver = false;

  constructor(world: BetweenWorld) {
    this.#world = world;
  }

  /** Notes the run's name for later messages. */
  noteRun(run: string): void {
    this.#run = run;
  }

  /**
   * Notes that the last trainer session has ended and reported its end. A later notice changes
   * nothing about it.
   */
  close(): void {
    this.#isOver = true;
  }

  /**
   * Writes a provisional message after a notice that ends the attempt, before anything can go
   * wrong.
   */
  leaveProvisional(): void {
    const { first } = this.#world.notices;
    if (this.#isOver || first === null) return;
    this.#leave({ provisional: true, exitCode: null, end: null, sentence: `${labelOf(first)}; no trainer runs` });
  }

  /**
   * Writes the message for an interruption while no trainer ran. The last trainer session, if any,
   * has already reported its end.
   */
  leaveInterrupted(trainer: TrainerExit | null): RunExit {
    const exit = exitOfRun({ saidFinished: false, wasEnded: false, isTerminating: true, peer: null, trainer, failure: null });
    const { lastGoodStep } = factsOf(this.#world.log);
    const kept = lastGoodStep === null ? '' : `; the last good step is ${lastGoodStep}`;
    this.#end({ exitCode: exit.code, end: exit.kind, sentence: `${exit.sentence}${kept}` });
    return exit;
  }

  /**
   * Writes the message for a run that was finished before, so that no trainer is started; returns
   * the exit code.
   */
  leaveFinished(step: number): number {
    const sentence = `Already finished at step ${step}; nothing to do`;
    this.#world.log.shout(`${sentence}. To train on: --again`);
    this.#end({ exitCode: EXIT.ok, end: 'finished', sentence });
    return EXIT.ok;
  }

  /** Writes the message for an error that ends the run: the printed error, in short. */
  leaveRefused(thrown: unknown): void {
    const error = toError(thrown);
    const code = error instanceof HoldfastError ? error.code : 'INTERNAL';
    this.#end({ exitCode: exitCodeOf(error), end: 'refused', sentence: `${code}: ${error.message}` });
  }

  /**
   * Writes the final message, and also records the end of an open attempt. Without that record the
   * attempt would seem to run on.
   */
  #end(words: Pick<RunExit, 'sentence'> & { readonly exitCode: number; readonly end: RunExit['kind'] }): void {
    const { log, notices } = this.#world;
    this.#leave({ provisional: false, ...words });
    this.#isOver = true;
    if (!log.isAttemptOpen) return;
    const { step, lastGoodStep, lostMs, lostSteps } = factsOf(log);
    // Without a trainer there was nothing to lose.
    const lost = { lostMs: lostMs ?? 0, lostSteps: lostSteps ?? 0 };
    log.record({ kind: 'attempt-ended', ...words, cause: notices.first?.cause ?? null, step, lastGoodStep, ...lost, accelerators: null });
  }

  #leave(words: Pick<TerminationMessage, 'provisional' | 'exitCode' | 'end' | 'sentence'>): void {
    const { log, notices, clock } = this.#world;
    log.leave({
      run: this.#run,
      attempt: log.attempt,
      node: log.node,
      atMs: clock.now(),
      cause: notices.first?.cause ?? null,
      deadlineMs: notices.deadline?.deadlineMs ?? null,
      accelerators: null,
      ...factsOf(log),
      ...words,
    });
  }
}

/**
 * The facts of the last trainer session while its attempt is the newest. From an older one only the
 * last good step is kept.
 */
function factsOf({ left, attempt }: RunLog) {
  if (left === null || left.attempt !== attempt) return { ...NOTHING, lastGoodStep: left?.lastGoodStep ?? null };
  const { trainer, step, lastGoodStep, flush, lostMs, lostSteps } = left;
  return { trainer, step, lastGoodStep, flush, lostMs, lostSteps };
}

const NOTHING = { trainer: null, step: null, flush: null, lostMs: null, lostSteps: null } as const;
