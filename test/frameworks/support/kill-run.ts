import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Level, PathReport } from '../../../src/verify/report.ts';
import { verifyPaths } from '../../../src/verify/verify.ts';
import type { Rng } from '../../../src/core/rng.ts';
import type { Conversation } from './python.ts';

interface SaveAnswer {
  readonly completed: boolean;
  readonly seconds: number;
}

interface LoadAnswer {
  readonly outcome: 'loaded' | 'error' | 'crash' | 'hang';
  readonly digest?: string;
  readonly error?: string;
}

/** An undisturbed save, with which all others are compared. */
export interface WholeSave {
  readonly seconds: number;
  readonly digest: string;
  readonly quick: string;
  readonly deep: string;
}

/** One save that was killed, and the verdict of `verify` on what it left. */
export interface Kill {
  readonly delay: number;
  readonly victim: number | null;
  /** The call returned before the kill, or the files load with the right values. */
  readonly isComplete: boolean;
  readonly quick: readonly string[];
  readonly deep: readonly string[];
  readonly evidence: readonly string[];
}

/** Drives one writer of test/frameworks/writers. */
export class KillRun {
  readonly writer: string;
  readonly #process: Conversation;
  readonly #scratch: string;
  #share = 0.95;

  constructor(process: Conversation, writer: string, scratch: string) {
    this.#process = process;
    this.writer = writer;
    this.#scratch = join(scratch, writer);
  }

  /** Saves three times without a kill; `use` gets the last one. The first pays for cold caches. */
  async whole(use: (folder: string, load: () => Promise<LoadAnswer>) => Promise<void>): Promise<WholeSave> {
    await this.#save(null, null);
    const { seconds: once } = await this.#save(null, null);
    const { seconds: again } = await this.#save(null, null);
    const loaded = await this.#load();
    if (loaded.digest === undefined) throw new Error(`${this.writer}: a whole save does not load: ${JSON.stringify(loaded)}`);
    const [quick, deep] = [await this.#verify('quick'), await this.#verify('deep')];
    const verdict = ({ checkpoints }: PathReport) => checkpoints.map((checkpoint) => checkpoint.verdict).join(' ');
    await use(this.#scratch, () => this.#load());
    return { seconds: Math.min(once, again), digest: loaded.digest, quick: verdict(quick), deep: verdict(deep) };
  }

  /**
   * Kills one save at a random moment. A kill that comes too late shortens the range of later
   * moments.
   */
  async kill(whole: WholeSave, rng: Rng, ranks: number): Promise<Kill> {
    const delay = rng.next() * whole.seconds * this.#share;
    const victim = ranks === 1 ? null : rng.pick([null, ...Array.from({ length: ranks }, (_, rank) => rank)]);
    const { completed } = await this.#save(delay, victim);
    if (completed) this.#share *= 0.9;
    const [quick, deep] = [await this.#verify('quick'), await this.#verify('deep')];
    const verdicts = ({ checkpoints }: PathReport) => checkpoints.map(({ verdict }) => verdict);
    const isOffered = [...verdicts(quick), ...verdicts(deep)].some((verdict) => isGood(verdict, whole));
    // The kill came after the last byte and before the call returned, so only the loader can
    // decide.
    const isComplete = completed || (isOffered && (await this.#load()).digest === whole.digest);
    const evidence = quick.checkpoints.flatMap((checkpoint) => checkpoint.evidence.map(({ code, message }) => `${code}: ${message}`));
    return { delay, victim, isComplete, quick: verdicts(quick), deep: verdicts(deep), evidence };
  }

  #save(kill_after: number | null, victim: number | null): Promise<SaveAnswer> {
    rmSync(this.#scratch, { recursive: true, force: true });
    mkdirSync(this.#scratch, { recursive: true });
    return this.#process.ask<SaveAnswer>({ writer: this.writer, save: this.#scratch, kill_after, victim });
  }

  #load(): Promise<LoadAnswer> {
    return this.#process.ask<LoadAnswer>({ writer: this.writer, load: this.#scratch });
  }

  async #verify(level: Level): Promise<PathReport> {
    const { paths } = await verifyPaths([this.#scratch], { level, signal: new AbortController().signal });
    const [report] = paths;
    if (report === undefined) throw new Error('no report');
    return report;
  }
}

/**
 * True for a verdict that offers the checkpoint to a run, or the weights where the writer saves
 * nothing else.
 */
export function isGood(verdict: string, { quick }: Pick<WholeSave, 'quick'>): boolean {
  return verdict === 'RESUMABLE' || verdict === 'UNCHECKED' || (verdict === 'WEIGHTS_ONLY' && quick === 'WEIGHTS_ONLY');
}
