import { Worker } from 'node:worker_threads';
import { readShipped } from '../../checkpoint/ship/shipped.ts';
import { bytesOf } from '../../checkpoint/store/prune.ts';
import { scan } from '../../checkpoint/store/scan.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import { formatBytes } from '../../core/bytes.ts';
import { formatDuration } from '../../core/duration.ts';
import { toError } from '../../core/errors.ts';
import { RESERVE_MS } from '../../domain/flush-decision.ts';
import { decideLastShip } from '../../domain/last-ship.ts';
import type { Book } from '../book.ts';
import { bounded } from '../bounded.ts';
import { endThread } from '../end-thread.ts';
import type { Notices } from '../notices.ts';
import { SignsOfLife, SILENT_MS } from '../signs-of-life.ts';
import { releaseHeld } from './hold.ts';
import type { FromShip, ShipWork, ToShip } from './messages.ts';
import type { ShipSettings } from './settings.ts';

export interface ShipperOptions {
  readonly store: OpenStore;
  readonly ship: ShipSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly book: Book;
  /** The thread's program; a test may put another in its place. */
  readonly program?: URL;
}

const PROGRAM = new URL(`./worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);
const NEXT_START = 'the next start goes on with it';
/** How long the thread may take to let go of what it holds. */
const STOP_MS = 1000;

/**
 * Ships sealed checkpoints behind the trainer's back, from a thread of its own, so that signals and ranks are heard while bytes move. It lives as
 * long as the supervisor, across the lives of the trainer. What goes wrong is told, once for each kind of trouble, and tried again.
 */
export class Shipper {
  readonly #options: ShipperOptions;
  readonly #worker: Worker;
  readonly #waiting: (() => void)[] = [];
  readonly #signs: SignsOfLife;
  #current: { readonly step: number; readonly bytes: number; done: number } | null = null;
  #bytesPerMs: number | null = null;
  #trouble: string | null = null;
  #asked = 0;
  /** The newest question that was answered: by everything being there, or by a failure. */
  #answered = -1;
  #isDead = false;

  constructor(options: ShipperOptions) {
    this.#options = options;
    const { store, ship, env, program = PROGRAM } = options;
    this.#signs = new SignsOfLife(store.clock);
    const work: ShipWork = { dir: store.path, ship, env };
    this.#worker = new Worker(program, { workerData: work, resourceLimits: { maxOldGenerationSizeMb: 128 } });
    this.#worker.on('message', (message: FromShip) => this.#hear(message));
    this.#worker.on('error', (thrown) => this.#die(thrown));
    this.#worker.once('exit', () => {
      this.#isDead = true;
      this.#settle();
    });
    // The trainer's end is what the process waits for.
    this.#worker.unref();
  }

  /** Something was sealed. */
  note(): void {
    this.#tell('look');
  }

  /**
   * The trainer has ended. What is not shipped yet is, as far as it fits the time until the deadline; without one, as long as it does not
   * fail and something moves. Of a disk that does not answer nothing is asked. Resolves when there is no more to wait for.
   */
  async finish(notices: Notices, isDiskSilent: boolean): Promise<void> {
    const { book, store } = this.#options;
    if (isDiskSilent) return this.#fail(null, `the disk of the run does not answer; ${NEXT_START}`);
    // Now the process waits for it.
    this.#worker.ref();
    const missing = this.#missing();
    if (missing !== null) {
      const { deadline } = notices;
      const leftMs = deadline === null ? Infinity : deadline.deadlineMs - RESERVE_MS - store.clock.now();
      const current = this.#current === null ? null : { step: this.#current.step, restBytes: this.#current.bytes - this.#current.done };
      const newest = missing.step === current?.step ? null : missing;
      const { outcome, sentence } = decideLastShip({ leftMs, bytesPerMs: this.#bytesPerMs, current, newest });
      book.say(sentence);
      if (outcome === 'switch') this.#tell('switch');
      if (outcome === 'stop') this.#fail(missing.step, sentence);
      else await this.#untilShipped(missing.step, notices);
    }
  }

  async #untilShipped(step: number, notices: Notices): Promise<void> {
    this.note();
    this.#signs.note();
    const over = new AbortController();
    const { signal } = over;
    const silent = this.#signs.untilSilent(signal).then(() => `nothing has moved for ${formatDuration(SILENT_MS)}`);
    const late = notices.untilDeadline(RESERVE_MS, signal).then(() => 'there was no time left');
    const problem = await Promise.race([this.#untilAnswered().then(() => null), ...[silent, late].map((bound) => bound.catch(() => null))]);
    over.abort();
    if (problem !== null && this.#trouble === null) this.#fail(step, `step ${step} is not shipped: ${problem}; ${NEXT_START}`);
  }

  async #untilAnswered(): Promise<void> {
    while (this.#answered < this.#asked && !this.#isDead) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** The newest that has no copy; null when there is nothing to do any more. */
  #missing(): { readonly step: number; readonly bytes: number } | null {
    const { store, ship } = this.#options;
    if (this.#isDead) return null;
    try {
      const [newest] = scan(store).sealed;
      if (newest === undefined) return null;
      const { step, save } = newest.manifest;
      const isThere = readShipped(store, newest.name, save).some(({ url }) => url === ship.location.url);
      return isThere ? null : { step, bytes: bytesOf(newest) };
    } catch (thrown) {
      this.#options.book.complain(thrown);
      return null;
    }
  }

  #hear(message: FromShip): void {
    this.#signs.note();
    switch (message.type) {
      case 'begun':
        this.#current = { step: message.step, bytes: message.bytes, done: 0 };
        break;
      case 'progress':
        if (this.#current !== null) this.#current.done = message.done;
        break;
      case 'shipped':
        this.#shipped(message);
        break;
      case 'failed':
        this.#current = null;
        this.#fail(message.step, message.message, message.code);
        this.#answer(message.id);
        break;
      case 'idle':
        this.#answer(message.id);
        break;
    }
  }

  #shipped({ step, bytes, sentBytes, totalMs }: Extract<FromShip, { type: 'shipped' }>): void {
    const { book, ship } = this.#options;
    this.#current = null;
    if (sentBytes > 0 && totalMs > 0) this.#bytesPerMs = sentBytes / totalMs;
    book.record({ kind: 'shipped', step, url: ship.location.url, bytes, totalMs });
    const again = this.#trouble === null ? '' : '; shipping works again';
    book.say(`shipped step ${step} (${formatBytes(bytes)}) to ${ship.location.url} in ${formatDuration(totalMs)}${again}`);
    this.#trouble = null;
  }

  /** Trouble of the same kind is written down each time, and told to people once. */
  #fail(step: number | null, problem: string, code: string | null = null): void {
    const { book, ship } = this.#options;
    book.record({ kind: 'ship-failed', step, url: ship.location.url, problem });
    const trouble = code ?? problem;
    if (this.#trouble === trouble) return;
    this.#trouble = trouble;
    const which = step === null ? '' : ` of step ${step}`;
    book.shout(`shipping${which} to ${ship.location.url} failed${code === null ? '' : ` [${code}]`}: ${problem}; training is not affected`);
  }

  #die(thrown: unknown): void {
    this.#isDead = true;
    const { book } = this.#options;
    book.complain(new Error(`nothing is shipped any more, training goes on: ${toError(thrown).message}`, { cause: thrown }));
    this.#settle();
  }

  #answer(id: number): void {
    this.#answered = id;
    this.#settle();
  }

  #settle(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #tell(type: ToShip['type']): void {
    const message: ToShip = { type, id: ++this.#asked };
    this.#worker.postMessage(message);
  }

  /** Ends the thread; false when it cannot be ended in time, because it waits for a disk that does not answer. */
  async close(patienceMs: number, isDiskSilent: boolean): Promise<boolean> {
    const exited = new Promise<void>((resolve) => this.#worker.once('exit', () => resolve()));
    const { store } = this.#options;
    if (!this.#isDead) {
      this.#tell('stop');
      await bounded(exited, Math.min(STOP_MS, patienceMs), store.clock);
      if (!(await endThread(this.#worker, patienceMs, store.clock))) return false;
    }
    // What a thread that had to be ended was sending is not sent any more. The next start lets go of it, too.
    if (!isDiskSilent) releaseHeld(store);
    return true;
  }
}
