import type { Clock } from '../core/clock.ts';
import { HoldfastError, toError } from '../core/errors.ts';
import { exitCodeOf } from '../core/lifecycle.ts';
import { exitOfRun, type RunExit, type TrainerExit } from '../domain/exit-contract.ts';
import type { TerminationMessage } from '../domain/termination-message.ts';
import type { Book } from './book.ts';
import { labelOf, type Notices } from './notices.ts';

interface BetweenWorld {
  readonly book: Book;
  readonly notices: Pick<Notices, 'first' | 'deadline'>;
  readonly clock: Clock;
}

/**
 * The last words while no trainer runs: before the first, between two, and when none is started at all. A life tells of itself
 * (last-words.ts); what it has told of its steps stays.
 */
export class WordsBetween {
  readonly #world: BetweenWorld;
  #run: string | null = null;
  #isOver = false;

  constructor(world: BetweenWorld) {
    this.#world = world;
  }

  /** The run is known from now on. */
  noteRun(run: string): void {
    this.#run = run;
  }

  /** The last life has ended and told how: a notice that comes now changes nothing about it. */
  close(): void {
    this.#isOver = true;
  }

  /** A notice has come that ends the attempt: before anything can go wrong. */
  leaveProvisional(): void {
    const { first } = this.#world.notices;
    if (this.#isOver || first === null) return;
    this.#leave({ provisional: true, exitCode: null, end: null, sentence: `${labelOf(first)}; no trainer runs` });
  }

  /** Told to end while no trainer ran; the end of the last one, if there was any, has been told. */
  leaveInterrupted(trainer: TrainerExit | null): RunExit {
    const exit = exitOfRun({ saidFinished: false, wasEnded: false, isTerminating: true, peer: null, trainer, failure: null });
    this.#end({ exitCode: exit.code, end: exit.kind, sentence: exit.sentence });
    return exit;
  }

  /** An error of which the run ends: what is printed, in short. */
  leaveRefused(thrown: unknown): void {
    const error = toError(thrown);
    const code = error instanceof HoldfastError ? error.code : 'INTERNAL';
    this.#end({ exitCode: exitCodeOf(error), end: 'refused', sentence: `${code}: ${error.message}` });
  }

  /** The last words, also in the ledger where an attempt was begun and its life has not told of its end: else it would seem to run on. */
  #end(words: Pick<RunExit, 'sentence'> & { readonly exitCode: number; readonly end: RunExit['kind'] }): void {
    const { book, notices } = this.#world;
    this.#leave({ provisional: false, ...words });
    this.#isOver = true;
    if (!book.isAttemptOpen) return;
    const { step, lastGoodStep, lostMs, lostSteps } = factsOf(book);
    // Where no trainer was started there was nothing to lose.
    const lost = { lostMs: lostMs ?? 0, lostSteps: lostSteps ?? 0 };
    book.record({ kind: 'attempt-ended', ...words, cause: notices.first?.cause ?? null, step, lastGoodStep, ...lost, accelerators: null });
  }

  #leave(words: Pick<TerminationMessage, 'provisional' | 'exitCode' | 'end' | 'sentence'>): void {
    const { book, notices, clock } = this.#world;
    book.leave({
      run: this.#run,
      attempt: book.attempt,
      node: book.node,
      atMs: clock.now(),
      cause: notices.first?.cause ?? null,
      deadlineMs: notices.deadline?.deadlineMs ?? null,
      accelerators: null,
      ...factsOf(book),
      ...words,
    });
  }
}

/** What the last life told, while its attempt is the newest; of what came before it only that something is sealed. */
function factsOf({ left, attempt }: Book) {
  if (left === null || left.attempt !== attempt) return { ...NOTHING, lastGoodStep: left?.lastGoodStep ?? null };
  const { trainer, step, lastGoodStep, flush, lostMs, lostSteps } = left;
  return { trainer, step, lastGoodStep, flush, lostMs, lostSteps };
}

const NOTHING = { trainer: null, step: null, flush: null, lostMs: null, lostSteps: null } as const;
