import { join } from 'node:path';
import { createRng, type Rng } from '../../src/core/rng.ts';
import { openStore } from '../../src/queue/backends/open-store.ts';
import { QueueClient } from '../../src/queue/client/client.ts';
import { realClock } from '../../src/core/clock.ts';
import type { StoredResult } from '../../src/queue/backend.ts';
import type { QueueStore } from '../../src/queue/store.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { auditStore } from './audit-store.ts';
import type { PostgresServer } from './postgres-server.ts';
import { pythonWorker, type Running, ServerProcess } from './processes.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** The accidents of workers, servers, the network and the database. */
export const ACCIDENTS = ['kill-worker', 'term-worker', 'stop-worker', 'kill-server', 'term-server', 'cut', 'kill-postgres'] as const;
export type Accident = (typeof ACCIDENTS)[number];

/** The plan of a round. */
export interface KillRound {
  readonly seed: number;
  /** The number of accidents. The queue always holds enough items to keep the workers busy. */
  readonly count: number;
  /** Null: SQLite. */
  readonly postgres: PostgresServer | null;
  readonly onAccident?: (done: number) => void;
}

/** The result of a round. */
export interface KillReport {
  /** The accidents that struck: a worker that had ended by itself is not killed. */
  readonly accidents: Readonly<Record<Accident, number>>;
  readonly items: number;
  /** The leases given out for the items. */
  readonly leases: number;
  /** How the server answered commits of workers that returned after they had been replaced. */
  readonly lateCommits: Readonly<Record<string, number>>;
  readonly lost: number;
  readonly twice: number;
  readonly deadCommits: number;
  readonly aside: number;
  readonly faults: readonly string[];
}

const WORKERS = 4;
const QUEUE = 'kills';
/** Short, so that the lease of a stopped worker ends within the round. */
const LEASE = '2s';
/**
 * Every worker computes the result from its own session, which shows a result written under the
 * wrong lease.
 */
const WORKER = `
import os, random, time
import holdfast
for item in holdfast.work("${QUEUE}"):
    time.sleep(random.random() * 0.03)
    if item.state is None: item.progress({"by": os.getpid()})
    item.done({"key": item.key, "token": item.token})
`;
const BUSY_ITEMS = 40;
const MORE_ITEMS = 120;

/**
 * Plays accidents at random moments while workers work, lets the queue finish, and checks every
 * row.
 */
export async function playKills({ seed, count, postgres, onAccident }: KillRound): Promise<KillReport> {
  using folder = tempFolder();
  const rng = createRng(seed);
  const db = postgres === null ? join(folder.path, 'queue.db') : postgres.database(`kills${seed}`);
  await using stage = await Stage.start(db, postgres);
  const items: { readonly key: string; readonly value: string }[] = [];
  const topUp = async (): Promise<void> => {
    // An accident counts only while there is work that it can spoil.
    if (items.length > 0 && (await stage.open()) > BUSY_ITEMS) return;
    const more = Array.from({ length: MORE_ITEMS }, (_, i) => ({ key: `k${items.length + i}`, value: String(i) }));
    await stage.push(more);
    items.push(...more);
  };
  await topUp();
  for (let i = 0; i < WORKERS; i++) stage.startWorker(i);
  const accidents = Object.fromEntries(ACCIDENTS.map((name) => [name, 0])) as Record<Accident, number>;
  for (let i = 0; i < count; i++) {
    await realClock.sleep(rng.integer(5, 220));
    await topUp();
    const accident = pickAccident(rng, postgres !== null);
    if (await stage.play(accident, rng)) accidents[accident] += 1;
    onAccident?.(i + 1);
  }
  await stage.comeToEnd();
  const lateCommits = await stage.commitLate(rng);
  await stage.close();
  const store = await openStore(db);
  try {
    return { accidents, items: items.length, lateCommits, ...(await judge(store, items)) };
  } finally {
    await store[Symbol.asyncDispose]();
  }
}

/** Workers die most often; servers and databases die now and then. */
function pickAccident(rng: Rng, hasPostgres: boolean): Accident {
  const weights: readonly (readonly [Accident, number])[] = [
    ['kill-worker', 60],
    ['term-worker', 6],
    ['stop-worker', 6],
    ['kill-server', 16],
    ['term-server', 3],
    ['cut', 6],
    ['kill-postgres', hasPostgres ? 4 : 0],
  ];
  let at = rng.integer(0, weights.reduce((sum, [, weight]) => sum + weight, 0) - 1);
  for (const [name, weight] of weights) {
    if (at < weight) return name;
    at -= weight;
  }
  return 'kill-worker';
}

type Judgement = Pick<KillReport, 'leases' | 'lost' | 'twice' | 'deadCommits' | 'aside' | 'faults'>;

async function judge(store: QueueStore, items: readonly { readonly key: string; readonly value: string }[]): Promise<Judgement> {
  const { done, leases, faults } = await auditStore(store, QUEUE, items);
  const queue = await store.findQueue(QUEUE);
  const counts = { lost: 0, twice: 0, deadCommits: 0, aside: 0 };
  for (const { key } of items) {
    const story = await store.story(queue?.id ?? 0, key);
    const results = story?.results ?? [];
    if (story?.state === 'aside') counts.aside += 1;
    if (results.length === 0) counts.lost += 1;
    if (results.length > 1) counts.twice += 1;
    counts.deadCommits += results.filter((result) => !isOfNewestLease(result, { key, token: story?.token ?? 0 })).length;
  }
  const open = items.length - done - counts.lost;
  return { leases, ...counts, faults: open === 0 ? faults : [...faults, `${open} items are not done`] };
}

/**
 * Whether the result came from the newest lease. A token that is newer than the result's, given out
 * before the commit, proves that a dead lease has written.
 */
function isOfNewestLease({ result, token }: StoredResult, item: { readonly key: string; readonly token: number }): boolean {
  const by = JSON.parse(result) as { key: string; token: number };
  return by.key === item.key && by.token === token && token === item.token;
}

/** Ends a process. Returns whether the signal met it alive. */
async function endAlive(process: Running | undefined, signal: 'SIGKILL' | 'SIGTERM'): Promise<boolean> {
  const wasAlive = process?.hasEnded === false;
  await process?.end(signal);
  return signal === 'SIGKILL' ? process?.child.signalCode === signal : wasAlive;
}

/** The processes of a round. */
class Stage implements AsyncDisposable {
  readonly #args: readonly string[];
  readonly #postgres: PostgresServer | null;
  readonly #proxy: TcpProxy;
  readonly #workers = new Map<number, Running>();
  readonly #waking: Promise<void>[] = [];
  /** Workers that were stopped, replaced, and continued. */
  readonly #replaced: Running[] = [];
  #server: ServerProcess;

  private constructor(
    args: readonly string[],
    postgres: PostgresServer | null,
    parts: { readonly server: ServerProcess; readonly proxy: TcpProxy },
  ) {
    this.#args = args;
    this.#postgres = postgres;
    this.#server = parts.server;
    this.#proxy = parts.proxy;
  }

  static async start(db: string, postgres: PostgresServer | null): Promise<Stage> {
    const args = [`--db=${db}`, '--listen=127.0.0.1:0', `--lease=${LEASE}`, '--poison=50'];
    const server = await ServerProcess.start(args);
    return new Stage(args, postgres, { server, proxy: await TcpProxy.start(server.url) });
  }

  async push(items: readonly { readonly key: string; readonly value: string }[]): Promise<void> {
    const client = this.#client();
    const lines = async function* (): AsyncGenerator<string> {
      yield items.map((item) => `${JSON.stringify(item)}\n`).join('');
    };
    await client.upload(`/v1/queues/${QUEUE}/items`, lines());
    client.close();
  }

  /** How many items still need work. */
  async open(): Promise<number> {
    const client = this.#client();
    const { open } = await client.json<{ open: number }>('GET', `/v1/queues/${QUEUE}`);
    client.close();
    return open;
  }

  startWorker(nth: number): void {
    // Two nodes, from the queue's point of view.
    this.#workers.set(nth, pythonWorker(this.#proxy.url, WORKER, { HOLDFAST_NODE: `node-${nth % 2}` }));
  }

  /** Returns whether it struck a process that was alive. */
  async play(accident: Accident, rng: Rng): Promise<boolean> {
    const nth = rng.integer(0, WORKERS - 1);
    switch (accident) {
      case 'kill-worker':
        return this.#endWorker(nth, 'SIGKILL');
      case 'term-worker':
        return this.#endWorker(nth, 'SIGTERM');
      case 'stop-worker':
        return this.#stop(nth, rng.integer(2500, 4000));
      case 'kill-server':
        return this.#endServer('SIGKILL');
      case 'term-server':
        return this.#endServer('SIGTERM');
      case 'cut':
        this.#proxy.cut();
        return true;
      case 'kill-postgres':
        await this.#postgres?.end('SIGKILL');
        await this.#postgres?.run();
        return true;
    }
  }

  async #endWorker(nth: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<boolean> {
    const wasAlive = await endAlive(this.#workers.get(nth), signal);
    this.startWorker(nth);
    return wasAlive;
  }

  async #endServer(signal: 'SIGKILL' | 'SIGTERM'): Promise<boolean> {
    const wasAlive = await endAlive(this.#server, signal);
    this.#server = await ServerProcess.start(this.#args);
    this.#proxy.target = this.#server.url;
    return wasAlive;
  }

  /**
   * Stops a worker until its lease has ended. When it continues, it has been replaced, and it still
   * tries to hand in.
   */
  #stop(nth: number, ms: number): boolean {
    const worker = this.#workers.get(nth);
    if (worker === undefined || worker.hasEnded) return false;
    worker.signal('SIGSTOP');
    this.#waking.push(realClock.sleep(ms).then(() => worker.signal('SIGCONT')));
    this.#replaced.push(worker);
    this.startWorker(nth);
    return true;
  }

  /**
   * Waits for the end: workers exit when nothing is left, and each dead worker has a living
   * successor.
   */
  async comeToEnd(): Promise<void> {
    await Promise.all(this.#waking);
    while ((await this.open()) > 0) {
      for (let nth = 0; nth < WORKERS; nth++) if (this.#workers.get(nth)?.hasEnded === true) this.startWorker(nth);
      await realClock.sleep(200);
    }
    await Promise.all([...this.#workers.values(), ...this.#replaced].map((one) => one.ended));
  }

  /** Long after the end, hands in results with old tokens: equal and other bytes. */
  async commitLate(rng: Rng): Promise<Record<string, number>> {
    const client = this.#client();
    const told: Record<string, number> = {};
    const session = { id: 'a-worker-of-long-ago', node: 'node-9', process: 'ghost' };
    for (let i = 0; i < 20; i++) {
      const key = `k${rng.integer(0, 50)}`;
      const story = await client.json<{ item: number; results: { token: number; result: string }[] }>(
        'GET',
        `/v1/queues/${QUEUE}/items/${key}`,
      );
      const stands = story.results[0]?.result ?? 'null';
      const commits = [{ item: story.item, token: 1, generation: 1, result: i % 2 === 0 ? stands : '"from the dead"' }];
      const answer = await client.json<{ commits: { verdict: string }[] }>('POST', `/v1/queues/${QUEUE}/turn`, {
        body: { session, commits },
      });
      for (const { verdict } of answer.commits) told[verdict] = (told[verdict] ?? 0) + 1;
    }
    client.close();
    return told;
  }

  async close(): Promise<void> {
    for (const worker of [...this.#workers.values(), ...this.#replaced]) {
      worker.signal('SIGCONT');
      await worker.end('SIGKILL');
    }
    await this.#server.end('SIGKILL');
    await this.#proxy[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close().catch(() => {});
  }

  #client(): QueueClient {
    return new QueueClient({ url: this.#proxy.url, token: null, clock: realClock, tries: 50 });
  }
}
