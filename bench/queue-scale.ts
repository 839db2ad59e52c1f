import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { realClock } from '../src/core/clock.ts';
import { openSqlite } from '../src/queue/backends/sqlite/store.ts';
import { QueueClient } from '../src/queue/client/client.ts';
import { findPostgres, PostgresServer } from '../test/queue/postgres-server.ts';
import { pythonWorker, type Running, ServerProcess } from '../test/queue/processes.ts';
import { roundsOr } from './support/size.ts';
import type { Bound, Suite, Variant } from './support/suite.ts';

const MILLION = 1_000_000;
const TEN_MILLION = 10 * MILLION;
/** The items that a round of the growth leases and commits. */
const TAKEN = 1000;
const WORKERS = 8;
const LARGEST_SERVER = 300_000_000;
const LEASE_SECONDS = 10;

/** Closers of what a suite started, in the order of their use. */
type Closers = (() => void | Promise<unknown>)[];

/** A push of a million items. */
export async function queuePush(): Promise<Suite | string> {
  const found = findPostgres();
  const { folder, closers, dispose } = resources();
  const places: (readonly [string, string])[] = [['holdfast, SQLite', join(folder, 'queue.db')]];
  if ('bin' in found) {
    const postgres = await PostgresServer.start(found.bin);
    closers.push(() => postgres.end('SIGINT'));
    places.unshift(['holdfast, PostgreSQL', postgres.database('holdfast')]);
  }
  const variants: Variant[] = [];
  for (const [name, place] of places) {
    const { server, client } = await serve(place, closers);
    let round = 0;
    variants.push({
      name,
      async run() {
        round += 1;
        const start = process.hrtime.bigint();
        const { added } = await client.upload<{ readonly added: number }>(`/v1/queues/push-${round}/items`, lines(MILLION));
        if (added !== MILLION) throw new Error(`${added} items were added`);
        return { seconds: secondsSince(start), peakBytes: peakOf(server) };
      },
    });
  }
  return {
    name: 'queue: a push of a million items',
    description: `One request adds a million items, each with a key and a value of 40 characters; every batch of it is durable before the answer. The memory is that of the server. ${load()}`,
    rounds: roundsOr(1),
    reference: 'holdfast, SQLite',
    bytes: 0,
    variants,
    bounds: [memoryBound()],
    dispose,
  };
}

/** The time of the same work in queues from a thousand to ten million items. */
export async function queueGrowth(): Promise<Suite | string> {
  const { folder, closers, dispose } = resources();
  const rounds = roundsOr(3);
  const variants: Variant[] = [];
  for (const items of [TAKEN, MILLION, TEN_MILLION]) {
    const place = join(folder, `${items}.db`);
    // A small queue is empty after a round; a large one only shrinks by a little.
    const queues = items > TAKEN ? 1 : rounds + 1;
    await fill(place, items, queues);
    const { server, client } = await serve(place, closers);
    let round = 0;
    variants.push({
      name: `${items.toLocaleString('en')} items`,
      async run() {
        const queue = `q${Math.min(round++, queues - 1)}`;
        const start = process.hrtime.bigint();
        await Promise.all(Array.from({ length: WORKERS }, (_, nth) => work(client, queue, nth)));
        return { seconds: secondsSince(start), peakBytes: peakOf(server) };
      },
    });
  }
  const smallest = `${TAKEN.toLocaleString('en')} items`;
  return {
    name: 'queue: growth',
    description: `${WORKERS} workers lease and commit ${TAKEN} items, one at a time, from a SQLite queue of so many. The memory is that of the server. ${load()}`,
    rounds,
    reference: smallest,
    bytes: 0,
    variants,
    bounds: [
      memoryBound(),
      {
        text: 'from ten million items at most 1.5 × the time from a thousand',
        isMet: (results) => {
          const median = (name: string): number => results.get(name)?.seconds.median ?? Infinity;
          return median(`${TEN_MILLION.toLocaleString('en')} items`) <= 1.5 * median(smallest);
        },
      },
    ],
    dispose,
  };
}

/** How long the item of a worker that ends waits for the next worker. */
export async function queueTakeover(): Promise<Suite | string> {
  const { folder, closers, dispose } = resources();
  const { server, client } = await serve(join(folder, 'queue.db'), closers, [`--lease=${LEASE_SECONDS}s`]);
  let round = 0;
  const after = (name: string, end: (worker: Running) => Promise<void> | void): Variant => ({
    name,
    async run() {
      const queue = `takeover-${(round += 1)}`;
      await client.upload(`/v1/queues/${queue}/items`, lines(1));
      const worker = pythonWorker(server.url, HOLDS_AN_ITEM, { QUEUE: queue });
      while (!worker.stdout.includes('leased') && !worker.hasEnded) await realClock.sleep(10);
      const next = client.json<{ readonly leases: readonly unknown[] }>('POST', `/v1/queues/${queue}/turn`, {
        body: { session: session(0), lease: { most: 1 }, waitSeconds: 60 },
      });
      const start = process.hrtime.bigint();
      await end(worker);
      const { leases } = await next;
      const seconds = secondsSince(start);
      await worker.end('SIGKILL');
      if (leases.length !== 1) throw new Error(`no worker took over: ${worker.stderr}`);
      return { seconds };
    },
  });
  const bound = (text: string, name: string, seconds: number): Bound => ({
    text,
    isMet: (results) => (results.get(name)?.seconds.max ?? Infinity) < seconds,
  });
  return {
    name: 'queue: take-over',
    description: `From the signal to a worker in Python until another worker has its item, with leases of ${LEASE_SECONDS} s. By their defaults, a job whose worker was killed waits 30 s or more for BullMQ (stalled check), 15 minutes for pg-boss (expiry) and 4 hours for graphile-worker (lock). ${load()}`,
    rounds: roundsOr(5),
    reference: 'after SIGTERM',
    bytes: 0,
    variants: [
      after('after SIGTERM', (worker) => worker.signal('SIGTERM')),
      after('after SIGKILL', (worker) => worker.signal('SIGKILL')),
      after('stopped for ever (SIGSTOP)', (worker) => worker.signal('SIGSTOP')),
    ],
    bounds: [bound('after SIGTERM under 1 s', 'after SIGTERM', 1), bound('after SIGKILL under the lease', 'after SIGKILL', LEASE_SECONDS)],
    dispose,
  };
}

const HOLDS_AN_ITEM = `
import holdfast, os, time
for item in holdfast.work(os.environ["QUEUE"]):
    print("leased", flush=True)
    while not item.stopping:
        time.sleep(0.01)
`;

function resources(): { readonly folder: string; readonly closers: Closers; readonly dispose: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const closers: Closers = [];
  const dispose = (): void => {
    for (const close of closers) void close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { folder, closers, dispose };
}

async function serve(
  place: string,
  closers: Closers,
  options: readonly string[] = [],
): Promise<{ readonly server: ServerProcess; readonly client: QueueClient }> {
  const server = await ServerProcess.start([`--db=${place}`, '--listen=127.0.0.1:0', ...options]);
  const client = new QueueClient({ url: server.url, token: null, clock: realClock, tries: 1 });
  closers.push(
    () => client.close(),
    () => server.signal('SIGKILL'),
  );
  return { server, client };
}

/** Leases and commits items of a queue, until all workers together have taken enough. */
async function work(client: QueueClient, queue: string, nth: number): Promise<void> {
  let commits: readonly object[] = [];
  for (let taken = 0; taken <= TAKEN / WORKERS; taken++) {
    const lease = { most: taken < TAKEN / WORKERS ? 1 : 0 };
    const { leases } = await client.turn<Turned>(queue, { session: session(nth), commits, lease });
    commits = leases.map(({ item, token, generation }) => ({ item, token, generation, result: '"done"' }));
  }
}

interface Turned {
  readonly leases: readonly { readonly item: number; readonly token: number; readonly generation: number }[];
}

function session(nth: number): object {
  return { id: `bench-worker-${nth}`, node: 'n', process: 'p' };
}

/** Fills a file with queues `q0`, `q1`, …, faster than a server would. */
async function fill(place: string, items: number, queues: number): Promise<void> {
  // The store makes the tables.
  await openSqlite(place)[Symbol.asyncDispose]();
  const database = new DatabaseSync(place);
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -262144');
  for (let queue = 1; queue <= queues; queue++) {
    database.exec(`
      BEGIN;
      INSERT INTO queues (id, name, created_at) VALUES (${queue}, 'q${queue - 1}', 0);
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${items})
        INSERT INTO items (queue, key, rank) SELECT ${queue}, printf('item-%08d', i), 0 FROM n;
      INSERT INTO payloads (item, value) SELECT id, '"value of ' || key || '"' FROM items WHERE queue = ${queue};
      INSERT INTO counts (queue, name, n) VALUES (${queue}, 'ready', ${items});
      COMMIT;`);
  }
  database.close();
}

async function* lines(count: number): AsyncGenerator<string> {
  const step = 1000;
  for (let first = 0; first < count; first += step) {
    const numbers = Array.from({ length: Math.min(step, count - first) }, (_, i) => String(first + i).padStart(8, '0'));
    yield numbers.map((n) => `${JSON.stringify({ key: `item-${n}`, value: `"the value of item ${n} of the bench"` })}\n`).join('');
  }
}

function memoryBound(): Bound {
  return {
    text: 'the server takes at most 300 MB',
    isMet: (results) => [...results.values()].every(({ peakBytes }) => (peakBytes ?? Infinity) <= LARGEST_SERVER),
  };
}

/** The most memory that the process has had. */
function peakOf({ child }: ServerProcess): number {
  const status = readFileSync(`/proc/${child.pid ?? 0}/status`, 'utf8');
  return 1024 * Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN);
}

function secondsSince(start: bigint): number {
  return Number(process.hrtime.bigint() - start) / 1e9;
}

function load(): string {
  return `The load of the machine was ${loadavg()[0]?.toFixed(1) ?? '?'} at the start.`;
}
