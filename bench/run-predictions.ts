import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { type Attempt, startAttempt } from '../src/store/attempt/attempt.ts';
import { beginSave } from '../src/store/commit/save.ts';
import { openRun, type OpenStore } from '../src/store/folder/store.ts';
import { formatBytes } from '../src/core/bytes.ts';
import { createRng } from '../src/core/rng.ts';
import { decideFlush, RESERVE_MS } from '../src/domain/grace/flush-decision.ts';
import { NO_SAVES, observeSave, predictSave, type SaveTimes } from '../src/domain/grace/prediction.ts';
import { sealSave } from '../src/supervisor/saves/sealing/seal-save.ts';
import { LARGE_BYTES, roundsOr } from './support/size.ts';
import type { Suite } from './support/suite.ts';

const BYTES = Math.ceil(LARGE_BYTES / 32);
const TRIALS = roundsOr(200);
/** Saves before the first trial, because an interrupted run has saved before. */
const LEARNED = 20;
const QUIET = 'quiet disk';
const DISTURBED = 'disturbed disk';

interface Trial {
  readonly isStarted: boolean;
  readonly isPossible: boolean;
}

/**
 * Makes real saves and compares each with its prediction. For each, a random grace asks two
 * questions: would the flush have started, and would it have succeeded? Another process writes and
 * syncs from time to time.
 */
export async function runPredictions(): Promise<Suite> {
  const bench = await PredictionBench.make();
  return {
    name: 'predictions of flushes',
    description: `Saves of ${formatBytes(BYTES)}, written, checksummed, synced and sealed on the disk of the temporary folder. Beside the disturbed ones another process writes and syncs 64 MiB again and again, half of the time in random spells. ${TRIALS} trials each: a grace from 0.3 to 10 times the usual need is drawn, the flush is decided from the ${LEARNED} and more saves before it, and the save is made.`,
    rounds: LEARNED + TRIALS,
    reference: QUIET,
    bytes: BYTES,
    variants: [
      { name: QUIET, prepare: () => bench.disturb(false), run: () => bench.trial(QUIET) },
      { name: DISTURBED, prepare: () => bench.disturb(true), run: () => bench.trial(DISTURBED) },
    ],
    bounds: [QUIET, DISTURBED].flatMap((name) => bench.boundsOf(name)),
    dispose: () => bench.dispose(),
  };
}

class PredictionBench {
  readonly #folder: string;
  readonly #store: OpenStore;
  readonly #attempt: Attempt;
  readonly #rng = createRng(1);
  readonly #times = new Map<string, SaveTimes>();
  readonly #trials = new Map<string, Trial[]>();
  #step = 0;
  #neighbour: ChildProcess | null = null;
  #spell = 0;

  private constructor(folder: string, store: OpenStore, attempt: Attempt) {
    this.#folder = folder;
    this.#store = store;
    this.#attempt = attempt;
  }

  static async make(): Promise<PredictionBench> {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
    const dir = join(folder, 'run');
    mkdirSync(dir);
    const store = openRun(dir);
    return new PredictionBench(folder, store, await startAttempt(store, { gang: 'bench' }));
  }

  /** A disturbing process that runs during some saves and pauses during others. */
  disturb(isWanted: boolean): void {
    if (this.#spell-- <= 0) this.#spell = Math.floor(this.#rng.next() * 10);
    const isThere = isWanted && this.#spell % 2 === 1;
    if (isThere && this.#neighbour === null) {
      const loop = `while :; do dd if=/dev/zero of=${this.#folder}/neighbour bs=8M count=8 conv=fsync status=none; done`;
      this.#neighbour = spawn('sh', ['-c', loop], { detached: true, stdio: 'ignore' });
    } else if (!isThere) this.#quieten();
  }

  /** One save and its trial; the first saves only train the prediction. */
  async trial(name: string): Promise<{ readonly seconds: number }> {
    const times = this.#times.get(name) ?? NO_SAVES;
    const predicted = predictSave(times, BYTES);
    const graceMs = RESERVE_MS + (predicted?.medianMs ?? 0) * (0.3 + 9.7 * this.#rng.next());
    const ms = await this.#save();
    this.#times.set(name, observeSave(times, { bytes: BYTES, ms }));
    if (times.saves.length >= LEARNED) {
      const isStarted = predicted !== null && decide(graceMs, predicted) === 'flush';
      const trials = this.#trials.get(name) ?? [];
      this.#trials.set(name, [...trials, { isStarted, isPossible: ms + RESERVE_MS <= graceMs }]);
    }
    return { seconds: ms / 1000 };
  }

  boundsOf(name: string): Suite['bounds'] {
    const trials = (): readonly Trial[] => this.#trials.get(name) ?? [];
    const inVain = (): number => trials().filter(({ isStarted, isPossible }) => isStarted && !isPossible).length;
    const made = (): number => {
      const possible = trials().filter(({ isPossible }) => isPossible);
      return possible.filter(({ isStarted }) => isStarted).length / Math.max(1, possible.length);
    };
    const within = (): number => {
      const { compared, withinP95 } = (this.#times.get(name) ?? NO_SAVES).error;
      return withinP95 / Math.max(1, compared);
    };
    const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
    return [
      bound(
        () => `${name}: at most 2 of 200 flushes are started in vain (${inVain()} of ${trials().length})`,
        () => inVain() <= trials().length / 100,
      ),
      bound(
        () => `${name}: at least 90 % of those that were possible are made (${percent(made())})`,
        () => made() >= 0.9,
      ),
      bound(
        () => `${name}: 90 to 99 % of saves end within the P95 (${percent(within())})`,
        () => within() >= 0.9 && within() <= 0.99,
      ),
    ];
  }

  dispose(): void {
    this.#quieten();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #save(): Promise<number> {
    const started = performance.now();
    const save = beginSave(this.#store, this.#attempt, { step: this.#step++, worldSize: 1 });
    writeFileSync(join(save.data, 'state'), PAYLOAD);
    const { path } = await sealSave(
      this.#store,
      { kind: 'seal', save, image: null },
      { signal: NEVER, onBytes: () => {}, mayCommit: () => true },
    );
    const ms = performance.now() - started;
    rmSync(path, { recursive: true });
    return ms;
  }

  #quieten(): void {
    if (this.#neighbour?.pid !== undefined) process.kill(-this.#neighbour.pid, 'SIGKILL');
    this.#neighbour = null;
  }
}

const PAYLOAD = Buffer.alloc(BYTES, 'state');
const NEVER = new AbortController().signal;

function decide(graceMs: number, save: NonNullable<ReturnType<typeof predictSave>>): string {
  const nothing = { medianMs: 0, p95Ms: 0, samples: save.samples };
  return decideFlush({
    nowMs: 0,
    deadlineMs: graceMs,
    confidence: 'known',
    step: 1,
    lastGoodStep: 0,
    unsavedMs: 1,
    stepRest: nothing,
    busyMs: null,
    save,
    seal: nothing,
    agreementMs: 0,
    staged: null,
    refusal: null,
  }).outcome;
}

function bound(text: () => string, isMet: Suite['bounds'][number]['isMet']): Suite['bounds'][number] {
  return {
    get text() {
      return text();
    },
    isMet,
  };
}
