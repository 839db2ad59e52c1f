import type { OpenStore } from '../../store/folder/store.ts';
import { formatBytes } from '../../core/bytes.ts';
import { formatDuration } from '../../core/duration.ts';
import { threadProgram, WorkerThread } from '../../core/worker-thread.ts';
import { RESERVE_MS } from '../../domain/grace/flush-decision.ts';
import { decideLastShip } from '../../domain/grace/last-ship.ts';
import type { RunLog } from '../base/run-log.ts';
import { bounded } from '../../core/bounded.ts';
import type { Notices } from '../notices/notices.ts';
import { StallTimer, SILENT_MS } from '../base/stall-timer.ts';
import { releaseHeld } from './hold.ts';
import type { FromShip, ShipWork, ToShip, Unshipped } from './ship-messages.ts';
import type { ShipSettings } from '../settings/ship-settings.ts';

/** What a shipper needs. */
export interface ShipperOptions {
  readonly store: OpenStore;
  readonly ship: ShipSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: RunLog;
  /** The thread's program; a test may replace it. */
  readonly program?: URL;
}

const PROGRAM = threadProgram('ship-worker', import.meta.url);
const NEXT_START = 'the next start continues the upload';
/** How long the thread may take to release its hold. */
const STOP_MS = 1000;
/** How long the thread may take to name what is missing when there is no time left. */
const ANSWER_MS = 100;

/**
 * Ships sealed checkpoints on a thread of its own, so that the supervisor can serve signals and
 * ranks during uploads. It lives as long as the supervisor, across restarts of the trainer. It
 * reports each kind of problem once and retries.
 */
export class Shipper {
  readonly #options: ShipperOptions;
  readonly #thread: WorkerThread<ToShip, FromShip>;
  readonly #waiting: (() => void)[] = [];
  readonly #signs: StallTimer;
  #current: (Unshipped & { done: number }) | null = null;
  /** The thread's last answer about it; null: everything is shipped. */
  #missing: Unshipped | null = null;
  #bytesPerMs: number | null = null;
  #trouble: string | null = null;
  #asked = 0;
  /** The id of the newest answered message. */
  #answered = -1;

  constructor(options: ShipperOptions) {
    this.#options = options;
    const { store, ship, env, program = PROGRAM } = options;
    this.#signs = new StallTimer(store.clock);
    const work: ShipWork = { dir: store.path, ship, env };
    this.#thread = new WorkerThread(program, {
      data: work,
      heapMb: 128,
      onMessage: (message) => this.#hear(message),
      onExit: (problem) => {
        const text = `shipping has stopped, but training continues: ${problem?.message}`;
        if (problem !== null) this.#options.log.complain(new Error(text, { cause: problem }));
        this.#settle();
      },
    });
  }

  /** Tells the thread that a checkpoint was sealed. */
  note(): void {
    this.#tell('look');
  }

  /**
   * Ships the rest after the trainer has ended, within the time until the deadline. Without a
   * deadline it continues until the upload fails or stops moving. Only the thread reads the disk,
   * because the supervisor could not notice the deadline while it waits for a disk that does not
   * answer. Resolves when there is no more to wait for.
   */
  async finish(notices: Notices, isDiskSilent: boolean): Promise<void> {
    const { log, store } = this.#options;
    if (isDiskSilent) return this.#fail(null, `the disk of the run does not answer; ${NEXT_START}`);
    // From here on the process waits for the thread.
    this.#thread.hold();
    const problem = await this.#askMissing(notices);
    if (problem !== null) return this.#fail(null, `it is unknown which checkpoints are left to ship: ${problem}; ${NEXT_START}`);
    const missing = this.#missing;
    if (missing !== null) {
      const { deadline } = notices;
      const leftMs = deadline === null ? Infinity : deadline.deadlineMs - RESERVE_MS - store.clock.now();
      const current = this.#current === null ? null : { step: this.#current.step, restBytes: this.#current.bytes - this.#current.done };
      const newest = missing.step === current?.step ? null : missing;
      const { outcome, sentence } = decideLastShip({ leftMs, bytesPerMs: this.#bytesPerMs, current, newest });
      log.say(sentence);
      if (outcome === 'switch') this.#tell('switch');
      if (outcome === 'stop') this.#fail(missing.step, sentence);
      else await this.#untilShipped(missing.step, notices);
    }
  }

  /** Asks the thread for what is missing. Null, or why there is no answer. */
  #askMissing(notices: Notices): Promise<string | null> {
    const { clock } = this.#options.store;
    this.#missing = null;
    this.#tell('missing');
    return this.#answeredBy((signal) => notices.untilDeadline(RESERVE_MS / 2, signal).then(() => clock.sleep(ANSWER_MS, { signal })));
  }

  async #untilShipped(step: number, notices: Notices): Promise<void> {
    this.note();
    const problem = await this.#answeredBy((signal) => notices.untilDeadline(RESERVE_MS, signal));
    if (problem !== null && this.#trouble === null) this.#fail(step, `step ${step} is not shipped: ${problem}; ${NEXT_START}`);
  }

  /** Null when the thread has answered, or why the supervisor stops waiting for it. */
  async #answeredBy(deadline: (signal: AbortSignal) => Promise<void>): Promise<string | null> {
    this.#signs.note();
    const over = new AbortController();
    const { signal } = over;
    const silent = this.#signs.untilSilent(signal).then(() => `nothing has moved for ${formatDuration(SILENT_MS)}`);
    const late = deadline(signal).then(() => 'there was no time left');
    const problem = await Promise.race([this.#untilAnswered().then(() => null), ...[silent, late].map((bound) => bound.catch(() => null))]);
    over.abort();
    return problem;
  }

  async #untilAnswered(): Promise<void> {
    while (this.#answered < this.#asked && this.#thread.isAlive) await new Promise<void>((resolve) => this.#waiting.push(resolve));
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
      case 'missing':
        this.#missing = message.newest;
        this.#answer(message.id);
        break;
      case 'idle':
        this.#answer(message.id);
        break;
    }
  }

  #shipped({ step, bytes, sentBytes, totalMs, isPointed }: Extract<FromShip, { type: 'shipped' }>): void {
    const { log, ship } = this.#options;
    this.#current = null;
    if (sentBytes > 0 && totalMs > 0) this.#bytesPerMs = sentBytes / totalMs;
    log.record({ kind: 'shipped', step, url: ship.location.url, bytes, totalMs });
    if (!isPointed)
      log.record({
        kind: 'note',
        level: 'warning',
        code: 'REMOTE_CONFLICT',
        sentence: `the pointer at ${ship.location.url} stays at a newer checkpoint`,
      });
    const again = this.#trouble === null ? '' : '; shipping works again';
    log.say(`shipped step ${step} (${formatBytes(bytes)}) to ${ship.location.url} in ${formatDuration(totalMs)}${again}`);
    this.#trouble = null;
  }

  /** Logs each problem, and reports each kind of problem to the user once. */
  #fail(step: number | null, problem: string, code: string | null = null): void {
    const { log, ship } = this.#options;
    log.record({ kind: 'ship-failed', step, url: ship.location.url, problem });
    const trouble = code ?? problem;
    if (this.#trouble === trouble) return;
    this.#trouble = trouble;
    const which = step === null ? '' : ` of step ${step}`;
    log.shout(`shipping${which} to ${ship.location.url} failed${code === null ? '' : ` [${code}]`}: ${problem}; training is not affected`);
  }

  #answer(id: number): void {
    this.#answered = id;
    this.#settle();
  }

  #settle(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #tell(type: ToShip['type']): void {
    this.#thread.send({ type, id: ++this.#asked });
  }

  /** Ends the thread; false when it waits for a silent disk and cannot end in time. */
  async close(patienceMs: number, isDiskSilent: boolean): Promise<boolean> {
    const { store } = this.#options;
    if (this.#thread.isAlive) {
      this.#tell('stop');
      await bounded(this.#thread.exited, Math.min(STOP_MS, patienceMs), store.clock);
      if (!(await this.#thread.end(patienceMs, store.clock))) return false;
    }
    // The upload of a terminated thread is over. The next start releases the hold, too.
    if (!isDiskSilent) releaseHeld(store);
    return true;
  }
}
