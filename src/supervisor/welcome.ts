import { toError } from '../core/errors.ts';
import type { Resume } from './find-resume.ts';
import type { LifeOptions } from './life.ts';
import type { Measurements } from './measurements.ts';
import { OlderCheckpoints } from './older-checkpoints.ts';
import type { Ranks } from './ranks.ts';
import { PROTOCOL } from './sdk/protocol.ts';
import type { Rank } from './sdk/server.ts';

interface WelcomeOptions extends Pick<LifeOptions, 'options' | 'store' | 'attempt' | 'resume' | 'book' | 'stage'> {
  readonly ranks: Ranks;
  readonly measured: Measurements;
}

/** What the ranks that attach are told: which run and attempt they are, and what they go on from. */
export class Welcome {
  readonly #options: WelcomeOptions;
  readonly #attached = Promise.withResolvers<void>();
  /** The same for all the workers that are here, whatever is sealed while they come. */
  #from: Promise<Resume | null>;
  #older: OlderCheckpoints;
  #isTold = false;
  #hasToldWorld = false;
  #worldSize: number | null = null;
  #tookStep: number | null = null;

  constructor(options: WelcomeOptions) {
    this.#options = options;
    this.#from = Promise.resolve(options.resume);
    this.#older = new OlderCheckpoints(options.store);
  }

  /** Resolves when the first rank was welcomed. */
  get attached(): Promise<void> {
    return this.#attached.promise;
  }

  /** Of the ranks that have attached last; null: none ever has. */
  get worldSize(): number | null {
    return this.#worldSize;
  }

  /** Others come in the place of those that were here, and go on from this. */
  startAgain(from: Promise<Resume | null>): void {
    this.#from = from;
    this.#older = new OlderCheckpoints(this.#options.store);
    this.#isTold = this.#hasToldWorld = false;
  }

  /** Tells a rank, as soon as it is known what all of them go on from; false when it has gone by then. */
  async greet(rank: Rank): Promise<boolean> {
    const resume = await this.#from;
    const { ranks, book } = this.#options;
    if (!ranks.all.includes(rank)) return false;
    this.#worldSize = rank.world;
    this.#send(rank, resume);
    book.record({ kind: 'sdk-attached', rank: rank.rank, worldSize: rank.world, python: null, framework: null });
    if (!this.#isTold)
      book.say(
        resume === null ? 'the trainer has attached; it starts fresh' : `the trainer has attached; it resumes after step ${resume.step}`,
      );
    this.#isTold = true;
    this.#attached.resolve();
    this.#tellOtherWorld(rank, resume);
    return true;
  }

  /** The same to one that takes no part. */
  async greetDouble(rank: Rank): Promise<void> {
    this.#send(rank, await this.#from);
  }

  #send(rank: Rank, resume: Resume | null): void {
    const { store, attempt, options, stage } = this.#options;
    const everySteps = options.cadence.kind === 'steps' ? options.cadence.everySteps : null;
    rank.send({
      type: 'welcome',
      protocol: PROTOCOL,
      run: store.run,
      attempt: attempt.attempt,
      resume,
      steps: rank.world > 1 ? this.#older.steps : [],
      everySteps,
      reserves: stage !== null,
    });
  }

  /** Another number of ranks than saved it is told, when all of them are here. Whether the trainer can do with it is its own matter. */
  #tellOtherWorld({ world }: Rank, resume: Resume | null): void {
    const { options, book, ranks } = this.#options;
    const saved = resume?.worldSize ?? world;
    if (saved === world || this.#hasToldWorld || (options.gang === null && ranks.count < world)) return;
    this.#hasToldWorld = true;
    book.warn(`the checkpoint of step ${resume?.step} was saved by ${saved} ranks, and ${world} go on from it`);
  }

  /** The ranks of all nodes can only go on from a step that each of them holds. */
  async take(rank: Rank, { step, agreed }: { readonly step: number; readonly agreed: boolean }): Promise<void> {
    const { book, resume, attempt, measured } = this.#options;
    const looked = agreed ? this.#older.goBack(step, attempt.attempt) : this.#older.take(step);
    const taken = await looked.catch((thrown: unknown) => toError(thrown).message);
    const isRefused = typeof taken === 'string';
    rank.send({ type: 'taken', step, resume: isRefused ? null : taken, reason: isRefused ? taken : null });
    if (isRefused) book.warn(`step ${step}, which other nodes hold too, was not taken: ${taken}`);
    if (isRefused || !agreed || this.#tookStep === step) return;
    this.#tookStep = step;
    measured.noteTaken(step);
    if (resume?.step !== step)
      book.warn(`not all nodes hold step ${resume?.step}: all ranks go on from step ${step}, and what is newer here counts no more`);
  }
}
