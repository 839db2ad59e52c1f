import { type ChildProcess, spawn } from 'node:child_process';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Queue, Worker } from 'bullmq';
import { Logger, run as runGraphile, runMigrations } from 'graphile-worker';
import pg from 'pg';
import PgBoss from 'pg-boss';
import { realClock } from '../src/core/clock.ts';
import { QueueClient } from '../src/queue/client/client.ts';
import { findPostgres, PostgresServer } from '../test/queue/postgres-server.ts';
import { ServerProcess } from '../test/queue/processes.ts';
import { freePort } from '../test/support/free-port.ts';
import { ROOT } from '../test/support/run-process.ts';
import { roundsOr } from './support/size.ts';
import type { Bound, Suite, Variant, VariantResult } from './support/suite.ts';

/** The number of items in a round: enough for seconds of work, by programs that have warmed up. */
const ITEMS = 5000;
const REDIS = ['redis-server', 'redis-tools', 'liblzf1', 'libjemalloc2', 'liblua5.1-0', 'lua-bitop', 'lua-cjson', 'libhiredis0.14'];

/** One worker leases and commits one item at a time. */
export const queueOneWorker = (): Promise<Suite | string> => queueSuite(1, 1);
/** The same by eight workers. */
export const queueEightWorkers = (): Promise<Suite | string> => queueSuite(8, 1);
/** The same by 32 workers. */
export const queueManyWorkers = (): Promise<Suite | string> => queueSuite(32, 1);
/** Eight workers that lease and commit 50 items at a time. */
export const queueBatches = (): Promise<Suite | string> => queueSuite(8, 50);

async function queueSuite(workers: number, batch: number): Promise<Suite | string> {
  const found = findPostgres();
  if ('missing' in found) return found.missing;
  const postgres = await PostgresServer.start(found.bin);
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const sqlite = await ServerProcess.start([`--db=${join(folder, 'queue.db')}`, '--listen=127.0.0.1:0']);
  const served = await ServerProcess.start([`--db=${postgres.database('holdfast')}`, '--listen=127.0.0.1:0']);
  const redis = await startRedis(folder);
  const closers: (() => unknown)[] = [];
  const load = { workers, batch, closers };
  const variants: Variant[] = [
    holdfast('holdfast, PostgreSQL', served.url, load),
    holdfast('holdfast, SQLite', sqlite.url, load),
    graphile(postgres.database('graphile'), load),
    pgBoss(postgres.database('boss'), load),
    ...(redis === null || batch > 1 ? [] : [bullMq(redis.port, load)]),
  ];
  return {
    name: `queue: ${workers} ${workers === 1 ? 'worker' : 'workers'}, ${batch === 1 ? 'one item' : `${batch} items`} at a time`,
    description: `${ITEMS} items that wait are leased and their results committed by ${workers} ${workers === 1 ? 'worker' : 'workers'}, ${batch === 1 ? 'one' : batch} at a time; in seconds. One Node load generator for all; PostgreSQL and SQLite sync every commit, Redis runs with \`appendfsync always\`. Holdfast has a server process between, to which all workers share a connection, and stores a result for each item; graphile-worker and pg-boss speak with PostgreSQL directly and store none. ${batch > 1 ? 'graphile-worker fetches through its local queue and completes in batches; BullMQ has no batches. ' : ''}${redis === null ? 'Redis could not be had. ' : ''}The load of the machine was ${loadavg()[0]?.toFixed(1) ?? '?'} at the start.`,
    rounds: roundsOr(5),
    reference: 'holdfast, PostgreSQL',
    bytes: 0,
    variants,
    bounds: boundsOf(redis !== null && batch === 1),
    dispose: () => {
      for (const child of [sqlite.child, served.child]) child?.kill('SIGKILL');
      // A peer that still has connections when its server ends would end this process.
      void Promise.allSettled(closers.map((close) => close())).then(() => {
        redis?.child.kill('SIGKILL');
        return postgres.end('SIGINT');
      });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function boundsOf(hasBullMq: boolean): readonly Bound[] {
  const peers: Bound = {
    text: 'on the same PostgreSQL at least as fast as graphile-worker and pg-boss',
    isMet: (results) => isFastest(results, 'holdfast, PostgreSQL', ['graphile-worker', 'pg-boss']),
  };
  const redis: Bound = {
    text: 'on SQLite at least as fast as BullMQ on Redis',
    isMet: (results) => isFastest(results, 'holdfast, SQLite', ['BullMQ']),
  };
  return hasBullMq ? [peers, redis] : [peers];
}

function isFastest(results: ReadonlyMap<string, VariantResult>, own: string, others: readonly string[]): boolean {
  const seconds = (name: string): number => results.get(name)?.seconds.median ?? Infinity;
  return others.every((other) => seconds(own) <= seconds(other));
}

interface Load {
  readonly workers: number;
  readonly batch: number;
  /** Closes the connections that are still open at the end. */
  readonly closers: (() => unknown)[];
}

async function timed(work: () => Promise<unknown>): Promise<{ readonly seconds: number }> {
  const start = process.hrtime.bigint();
  await work();
  return { seconds: Number(process.hrtime.bigint() - start) / 1e9 };
}

/** Runs this many loops at once, each until it reports that nothing is left. */
async function together(count: number, step: (nth: number) => Promise<boolean>): Promise<void> {
  const loop = async (nth: number): Promise<void> => {
    while (await step(nth));
  };
  await Promise.all(Array.from({ length: count }, (_, nth) => loop(nth)));
}

interface Given {
  readonly item: number;
  readonly token: number;
  readonly generation: number;
}

function holdfast(name: string, url: string, { workers, batch, closers }: Load): Variant {
  const client = new QueueClient({ url, token: null, clock: realClock, tries: 1 });
  closers.push(() => client.close());
  let round = 0;
  return {
    name,
    async prepare() {
      round += 1;
      const lines = async function* (): AsyncGenerator<string> {
        yield Array.from({ length: ITEMS }, (_, i) => `{"key":"${i}","value":"${i}"}\n`).join('');
      };
      await client.upload(`/v1/queues/r${round}/items`, lines());
    },
    run: () =>
      timed(async () => {
        const held = new Map<number, readonly Given[]>();
        await together(workers, async (nth) => {
          const commits = (held.get(nth) ?? []).map(({ item, token, generation }) => ({ item, token, generation, result: '"done"' }));
          const turn = { session: { id: `bench-worker-${nth}`, node: 'n', process: 'p' }, commits, lease: { most: batch } };
          const { leases } = await client.turn<{ leases: readonly Given[] }>(`r${round}`, turn);
          held.set(nth, leases);
          return leases.length > 0;
        });
      }),
  };
}

function graphile(connectionString: string, { workers, batch }: Load): Variant {
  const logger = new Logger(() => () => {});
  const query = async (sql: string): Promise<readonly Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    const { rows } = await client.query<Record<string, unknown>>(sql);
    await client.end();
    return rows;
  };
  return {
    name: 'graphile-worker',
    async prepare() {
      await runMigrations({ connectionString, logger });
      await query(`SELECT graphile_worker.add_job('bench', json_build_object('n', n)) FROM generate_series(1, ${ITEMS}) AS n`);
    },
    async run() {
      let left = ITEMS;
      const { promise, resolve } = Promise.withResolvers<void>();
      const batches = batch > 1 ? { localQueue: { size: batch * workers }, completeJobBatchDelay: 5 } : {};
      const preset = { worker: { concurrentJobs: batch > 1 ? batch * workers : workers, pollInterval: 100, ...batches } };
      const taskList = { bench: async (): Promise<void> => void (--left === 0 && resolve()) };
      return timed(async () => {
        const runner = await runGraphile({ connectionString, taskList, preset, logger, noHandleSignals: true });
        await promise;
        // Stopping also completes the jobs that are done.
        await runner.stop();
      });
    },
  };
}

function pgBoss(connectionString: string, { workers, batch, closers }: Load): Variant {
  let boss: PgBoss | null = null;
  return {
    name: 'pg-boss',
    async prepare() {
      if (boss === null) {
        boss = new PgBoss({ connectionString, max: workers, supervise: false, schedule: false });
        boss.on('error', () => {});
        closers.push(async () => boss?.stop({ graceful: false }));
        await boss.start();
        await boss.createQueue('bench');
      }
      await boss.insert(Array.from({ length: ITEMS }, (_, n) => ({ name: 'bench', data: { n } })));
    },
    run: () =>
      timed(() =>
        together(workers, async () => {
          const jobs = (await boss?.fetch('bench', { batchSize: batch })) ?? [];
          if (jobs.length > 0)
            await boss?.complete(
              'bench',
              jobs.map(({ id }) => id),
            );
          return jobs.length > 0;
        }),
      ),
  };
}

function bullMq(port: number, { workers, closers }: Load): Variant {
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const queue = new Queue('bench', { connection });
  queue.on('error', () => {});
  closers.push(() => queue.disconnect());
  return {
    name: 'BullMQ',
    prepare: async () => void (await queue.addBulk(Array.from({ length: ITEMS }, (_, n) => ({ name: 'bench', data: { n } })))),
    async run() {
      let left = ITEMS;
      const { promise, resolve } = Promise.withResolvers<void>();
      return timed(async () => {
        const worker = new Worker('bench', async () => 'done', { connection, concurrency: workers });
        worker.on('completed', () => void (--left === 0 && resolve()));
        await promise;
        await worker.close();
      });
    },
  };
}

/**
 * A Redis that syncs every write, from the system or from Debian's packages; null if neither is
 * available.
 */
async function startRedis(folder: string): Promise<{ readonly port: number; readonly child: ChildProcess } | null> {
  try {
    const tools = execFileSync(join(ROOT, 'test/support/setup-mount-tools.sh'), REDIS, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    const port = await freePort();
    const env = { ...process.env, LD_LIBRARY_PATH: join(tools, 'usr/lib/x86_64-linux-gnu') };
    const args = ['--port', String(port), '--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
    const child = spawn(join(tools, 'usr/bin/redis-server'), args, { env, stdio: 'ignore' });
    const ping = (): boolean =>
      spawnSync(join(tools, 'usr/bin/redis-cli'), ['-p', String(port), 'ping'], { env })
        .stdout.toString()
        .startsWith('PONG');
    for (let tries = 0; tries < 100; tries++) {
      if (ping()) return { port, child };
      if (child.exitCode !== null) return null;
      await realClock.sleep(50);
    }
    return null;
  } catch {
    return null;
  }
}
