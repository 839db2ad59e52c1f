import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { Commit, CommitAnswer, Lease, LeaseRef, Session } from '../backend.ts';
import { type QueueClient, turnPath } from '../client/client.ts';
import { keepAlive } from './lifeline.ts';
import { ItemProgram, type Outcome } from './program.ts';

/** The parts that a worker needs. */
export interface WorkOptions {
  readonly client: QueueClient;
  readonly queue: string;
  readonly session: Session;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** The most items leased ahead. */
  readonly most: number;
  /** The grace of the current item after a notice. */
  readonly graceMs: number;
  /** Continue when the queue is drained, and wait for more items. */
  readonly isForever: boolean;
  readonly say: (text: string) => void;
  readonly onProgress: (done: number) => void;
}

/** The work done by this worker. */
export interface WorkReport {
  readonly done: number;
  readonly failed: number;
  readonly givenBack: number;
  /** Results that came too late: another worker committed one, or holds the item. */
  readonly refused: number;
}

interface TurnAnswer {
  /** The longest result that the server takes. */
  readonly itemLength: number;
  readonly commits: readonly CommitAnswer[];
  readonly leases: readonly Lease[];
  readonly drained: boolean;
}

const WAIT_SECONDS = 20;
/** A server takes eight of its largest results at once; escapes may double them. */
const MOST_RESULTS = 3;
const LONGEST_ERROR = 8000;
/** After this many exits in a row, the program will not do better with the next item. */
const MOST_ENDS = 5;

/**
 * Works on items until nothing is left or the signal is aborted. Then it commits finished items and
 * returns the rest at once.
 */
export async function workItems(options: WorkOptions, signal: AbortSignal): Promise<WorkReport> {
  const worker = new Worker(options, signal);
  return worker.work();
}

/** Why the outcome is no result, or null. */
function errorOf(outcome: Outcome, itemLength: number): string | null {
  if (outcome.kind === 'ended') return `the program ${outcome.how}`;
  if (outcome.kind === 'error') return outcome.error.slice(0, LONGEST_ERROR).toWellFormed().replaceAll('\u0000', '');
  const { length } = outcome.result;
  return length <= itemLength ? null : `the result has ${length} characters; the server takes at most ${itemLength}`;
}

class Worker {
  readonly #options: WorkOptions;
  readonly #signal: AbortSignal;
  readonly #program: ItemProgram;
  readonly #held = new Map<number, Lease>();
  /** Aborted at the end of the grace. */
  readonly #over = new AbortController();
  #commits: Commit[] = [];
  #fails: (LeaseRef & { error: string })[] = [];
  #report = { done: 0, failed: 0, givenBack: 0, refused: 0 };
  #endsInARow = 0;
  #itemLength = Infinity;

  constructor(options: WorkOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    const { command, env, clock } = options;
    this.#program = new ItemProgram({ command, env, clock, onProgress: (lease, state) => void this.#progress(lease, state) });
  }

  async work(): Promise<WorkReport> {
    const { client, session, clock, graceMs } = this.#options;
    const living = new AbortController();
    const alive = keepAlive(
      { client, session, clock, held: () => [...this.#held.values()], onLost: (lost) => this.#lost(lost) },
      living.signal,
    );
    const onNotice = (): void => {
      // A worker that has ended does not keep its process alive for the rest of the grace.
      clock.sleep(graceMs, { signal: living.signal }).then(
        () => this.#over.abort(),
        () => {},
      );
    };
    if (this.#signal.aborted) onNotice();
    else this.#signal.addEventListener('abort', onNotice, { once: true });
    try {
      await this.#workOn();
    } finally {
      await this.#giveBack().catch((error: unknown) => this.#options.say(`could not give leases back: ${String(error)}`));
      this.#signal.removeEventListener('abort', onNotice);
      living.abort();
      await alive;
      await this.#program.close(this.#signal.aborted ? 0 : graceMs);
    }
    return this.#report;
  }

  async #workOn(): Promise<void> {
    const { isForever } = this.#options;
    while (!this.#signal.aborted) {
      const { leases, drained } = await this.#turn();
      if (drained && !isForever) return;
      for (const lease of leases) this.#held.set(lease.item, lease);
      for (const lease of leases) {
        if (this.#signal.aborted) return;
        if (this.#held.get(lease.item) === lease) await this.#workOne(lease);
      }
    }
  }

  async #workOne(lease: Lease): Promise<void> {
    const { clock, say } = this.#options;
    const started = clock.monotonic();
    const outcome = await Promise.race([this.#program.run(lease), this.#whenOver()]);
    if (outcome === null) {
      this.#program.signal('SIGTERM');
      await this.#giveBackOne(lease, clock.monotonic() - started);
      return;
    }
    this.#endsInARow = outcome.kind === 'ended' ? this.#endsInARow + 1 : 0;
    if (outcome.kind === 'ended' && this.#signal.aborted) {
      await this.#giveBackOne(lease, clock.monotonic() - started);
      return;
    }
    this.#note(lease, outcome);
    if (this.#endsInARow < MOST_ENDS) return;
    const how = outcome.kind === 'ended' ? outcome.how : '';
    say(`the program ${how}, ${MOST_ENDS} times in a row`);
    throw new HoldfastError('QUEUE_WORKER_FAILED', { message: `the program ${how}, ${MOST_ENDS} times in a row without an answer` });
  }

  #note(lease: Lease, outcome: Outcome): void {
    const { item, token, generation } = lease;
    if (!this.#held.has(item)) return;
    const error = errorOf(outcome, this.#itemLength);
    if (outcome.kind === 'result' && error === null) this.#commits.push({ item, token, generation, result: outcome.result });
    else this.#fails.push({ item, token, error: error ?? '' });
  }

  /** Hands in finished items, and requests more. */
  async #turn(): Promise<TurnAnswer> {
    const { most } = this.#options;
    await this.#handInAhead();
    const lease = this.#signal.aborted ? {} : { lease: { most, fit: true } };
    const [commits, fails] = [this.#commits, this.#fails];
    // A wait without results ends with the notice. With results, it retries until the grace ends.
    const isIdle = commits.length + fails.length === 0;
    const signal = isIdle ? AbortSignal.any([this.#signal, this.#over.signal]) : this.#over.signal;
    let answer: TurnAnswer;
    try {
      answer = isIdle
        ? await this.#wait({ ...lease, waitSeconds: WAIT_SECONDS }, signal)
        : await this.#ask({ commits, fails, ...lease }, signal);
    } catch (thrown) {
      if (isIdle && this.#signal.aborted) return { itemLength: this.#itemLength, commits: [], leases: [], drained: false };
      throw thrown;
    }
    this.#itemLength = answer.itemLength;
    this.#noteHandedIn(commits, fails, answer);
    return answer;
  }

  async #giveBack(): Promise<void> {
    await this.#handInAhead();
    const [commits, fails] = [this.#commits, this.#fails];
    if (commits.length + fails.length > 0) this.#noteHandedIn(commits, fails, await this.#ask({ commits, fails }, this.#over.signal));
    for (const lease of this.#held.values()) await this.#giveBackOne(lease, 0);
  }

  /** Large results go ahead one by one: a request has a largest size. */
  async #handInAhead(): Promise<void> {
    let left = this.#commits.reduce((sum, { result }) => sum + result.length, 0);
    while (left > MOST_RESULTS * this.#itemLength) {
      const [commit] = this.#commits;
      if (commit === undefined) return;
      this.#noteHandedIn([commit], [], await this.#ask({ commits: [commit] }, this.#over.signal));
      left -= commit.result.length;
    }
  }

  #noteHandedIn(commits: readonly Commit[], fails: readonly LeaseRef[], answer: TurnAnswer): void {
    for (const { item } of [...commits, ...fails]) this.#held.delete(item);
    this.#commits = this.#commits.filter((one) => !commits.includes(one));
    this.#fails = this.#fails.filter((one) => !fails.includes(one));
    const refused = answer.commits.filter(({ verdict }) => verdict === 'differs' || verdict === 'fenced').length;
    this.#report.refused += refused;
    this.#report.done += commits.length - refused;
    this.#report.failed += fails.length;
    this.#options.onProgress(this.#report.done);
  }

  async #giveBackOne({ item, token }: Lease, spentMs: number): Promise<void> {
    this.#held.delete(item);
    this.#report.givenBack += 1;
    const notice = this.#signal.aborted ? { notice: 'a signal told the worker to end' } : {};
    await this.#ask({ releases: [{ item, token, spentMs: Math.round(spentMs) }], ...notice }, AbortSignal.timeout(5000));
  }

  async #progress({ item, token }: Lease, state: string): Promise<void> {
    await this.#ask({ progress: [{ item, token, state }] }, this.#over.signal).catch(() => {});
  }

  #ask(turn: object, signal: AbortSignal): Promise<TurnAnswer> {
    const { client, queue, session } = this.#options;
    return client.turn<TurnAnswer>(queue, { session, ...turn }, signal);
  }

  /** A request of its own, which a signal cancels on the server, too. */
  #wait(turn: object, signal: AbortSignal): Promise<TurnAnswer> {
    const { client, queue, session } = this.#options;
    return client.json<TurnAnswer>('POST', turnPath(queue), { body: { session, ...turn }, signal });
  }

  #lost(lost: readonly LeaseRef[]): void {
    for (const { item, token } of lost) {
      if (this.#held.get(item)?.token !== token) continue;
      this.#held.delete(item);
      this.#options.say(`lease ${token} of item ${item} was lost; another worker may have it`);
    }
  }

  #whenOver(): Promise<null> {
    const { signal } = this.#over;
    return new Promise((resolve) => {
      if (signal.aborted) resolve(null);
      signal.addEventListener('abort', () => resolve(null), { once: true });
    });
  }
}
