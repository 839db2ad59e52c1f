import { counted } from '../../core/counted.ts';
import { toError } from '../../core/errors.ts';
import type { Resume } from '../base/resume.ts';
import type { SessionOptions } from './session-options.ts';
import type { Measurements } from './measurements.ts';
import type { StepCounters } from './step-counters.ts';
import { OlderCheckpoints } from './older-checkpoints.ts';
import type { Ranks } from './ranks.ts';
import { PROTOCOL } from '../sdk/protocol.ts';
import type { Rank } from '../sdk/sdk-server.ts';

interface HandshakeOptions extends Pick<SessionOptions, 'options' | 'store' | 'attempt' | 'resume' | 'log' | 'stage'> {
  readonly ranks: Ranks;
  readonly measured: Measurements;
  readonly counters: StepCounters;
}

/**
 * Welcomes the ranks that attach: it sends them the run, the attempt and the checkpoint to resume
 * from.
 */
export class Handshake {
  readonly #options: HandshakeOptions;
  readonly #attached = Promise.withResolvers<void>();
  /**
   * Every worker of a start gets the same checkpoint, even if another save is sealed while they
   * attach.
   */
  #from: Promise<Resume | null>;
  #older: OlderCheckpoints;
  #isTold = false;
  #hasToldWorld = false;
  #worldSize: number | null = null;
  #tookStep: number | null = null;

  constructor(options: HandshakeOptions) {
    this.#options = options;
    this.#from = Promise.resolve(options.resume);
    this.#older = new OlderCheckpoints(options.store);
  }

  /** Resolves when the supervisor has welcomed the first rank. */
  get attached(): Promise<void> {
    return this.#attached.promise;
  }

  /** The world size of the ranks that attached last; null: no rank has attached. */
  get worldSize(): number | null {
    return this.#worldSize;
  }

  /** Prepares for restarted workers, which resume from the given checkpoint. */
  startAgain(from: Promise<Resume | null>): void {
    this.#from = from;
    this.#older = new OlderCheckpoints(this.#options.store);
    this.#isTold = this.#hasToldWorld = false;
  }

  /**
   * Welcomes a rank once the checkpoint to resume from is known; false when the rank has left by
   * then.
   */
  async greet(rank: Rank): Promise<boolean> {
    const resume = await this.#from;
    const { ranks, log } = this.#options;
    if (!ranks.all.includes(rank)) return false;
    this.#worldSize = rank.world;
    this.#send(rank, resume, this.#options.counters.open(rank));
    log.record({ kind: 'sdk-attached', rank: rank.rank, worldSize: rank.world, python: null, framework: null });
    if (!this.#isTold)
      log.say(
        resume === null ? 'the trainer has attached; it starts fresh' : `the trainer has attached; it resumes after step ${resume.step}`,
      );
    this.#isTold = true;
    this.#attached.resolve();
    this.#tellOtherWorld(rank, resume);
    return true;
  }

  /** Welcomes a second connection of the same rank, which takes no part in saves. */
  async greetDouble(rank: Rank): Promise<void> {
    this.#send(rank, await this.#from, null);
  }

  #send(rank: Rank, resume: Resume | null, counter: string | null): void {
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
      counter,
    });
  }

  /**
   * Warns once, when all ranks are attached, that their number differs from the number that saved.
   * Whether the trainer can resume that way is up to the trainer.
   */
  #tellOtherWorld({ world }: Rank, resume: Resume | null): void {
    const { options, log, ranks } = this.#options;
    const saved = resume?.worldSize ?? world;
    if (saved === world || this.#hasToldWorld || (options.gang === null && ranks.count < world)) return;
    this.#hasToldWorld = true;
    log.warn(`the checkpoint of step ${resume?.step} was saved by ${counted(saved, 'rank')}, and ${world} resume from it`);
  }

  /** Answers a rank that wants to resume from a step that the ranks of all nodes hold. */
  async take(rank: Rank, { step, agreed }: { readonly step: number; readonly agreed: boolean }): Promise<void> {
    const { log, resume, attempt, measured } = this.#options;
    const looked = agreed ? this.#older.goBack(step, attempt.attempt) : this.#older.take(step);
    const taken = await looked.catch((thrown: unknown) => toError(thrown).message);
    const isRefused = typeof taken === 'string';
    rank.send({ type: 'taken', step, resume: isRefused ? null : taken, reason: isRefused ? taken : null });
    if (isRefused) log.warn(`step ${step}, which other nodes also hold, was not taken: ${taken}`);
    if (isRefused || !agreed || this.#tookStep === step) return;
    this.#tookStep = step;
    measured.noteTaken(step);
    if (resume?.step !== step)
      log.warn(`not all nodes hold step ${resume?.step}: all ranks resume from step ${step}, and newer checkpoints here no longer count`);
  }
}
