import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realClock } from '../../src/core/clock.ts';
import { millis } from '../../src/core/duration.ts';
import { createRng } from '../../src/core/rng.ts';
import { openPostgres } from '../../src/queue/backends/postgres/store.ts';
import { StoredQueues } from '../../src/queue/engine.ts';
import { ROOT } from '../support/run-process.ts';
import { type Place, queueConformance, RULES } from './conformance.ts';
import { commitOf, itemsOf, lease, session, turn } from './drive.ts';
import { checkModel } from './model.ts';
import { findPostgres, PostgresServer } from './postgres-server.ts';

const found = findPostgres();
const why = 'missing' in found ? ` (skipped: ${found.missing})` : '';

describe.skipIf('missing' in found)(`PostgreSQL${why}`, () => {
  let server: PostgresServer;
  let count = 0;
  beforeAll(async () => {
    server = await PostgresServer.start('bin' in found ? found.bin : '');
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  const makePlace = async (): Promise<Place> => {
    const address = server.database(`q${++count}`);
    return { open: () => openPostgres(address), async [Symbol.asyncDispose]() {} };
  };

  queueConformance(makePlace);

  it('answers as a small model does, whatever several workers do in whatever order', async () => {
    await checkModel(makePlace, { seed: 22, count: 8 });
  });

  it('gives no item twice when several servers share a database, and loses no result', async () => {
    const address = server.database('shared');
    const open = async (seed: number) =>
      new StoredQueues({ store: await openPostgres(address), rules: RULES, clock: realClock, rng: createRng(seed), sharedNow: null });
    // Both open at the same time; only one creates the tables.
    await using one = await open(1);
    await using two = await open(2);
    await using three = await open(3);
    const keys = Array.from({ length: 300 }, (_, i) => `k${i}`);
    await Promise.all([one, two, three].map((backend) => backend.push('q', itemsOf(...keys))));
    const seen: string[] = [];
    const work = async (backend: StoredQueues, id: string): Promise<void> => {
      for (;;) {
        const leases = await lease(backend, 'q', session(id), 3);
        if (leases.length === 0) return;
        seen.push(...leases.map(({ key }) => key));
        const { commits } = await turn(backend, 'q', session(id), { commits: leases.map((given) => commitOf(given, '1')) });
        expect(new Set(commits.map(({ verdict }) => verdict))).toEqual(new Set(['write']));
      }
    };
    await Promise.all([one, two, three].flatMap((backend, i) => ['x', 'y'].map((name) => work(backend, `${name}/${i}`))));
    expect(seen.toSorted()).toEqual(keys.toSorted());
    expect((await two.status('q')).counts).toMatchObject({ done: 300, leased: 0, ready: 0 });
  });

  it('ends a lease at the same moment for servers whose clocks differ by minutes', async () => {
    const address = server.database('clocks');
    // Added to the clock of the database: a busy machine may pause longer than a short lease.
    let passedMs = 0;
    const open = async (aheadMs: number) => {
      const store = await openPostgres(address);
      const clock = { ...realClock, now: () => millis(Date.now() + aheadMs) };
      const sharedNow = async (): Promise<number> => Number(await store.sharedNow?.()) + passedMs;
      return new StoredQueues({ store, rules: RULES, clock, rng: createRng(1), sharedNow });
    };
    await using fast = await open(600_000);
    await using slow = await open(-600_000);
    await fast.push('q', itemsOf('1'));
    for (const backend of [fast, slow]) await backend.sweep();
    const [given] = await lease(fast, 'q', session('a/1'));
    // No server removes the lease at once, and none keeps it for ever.
    for (const backend of [slow, fast, slow]) {
      const { expired, extendedMs } = await backend.sweep();
      expect([expired, extendedMs < 600_000]).toEqual([0, true]);
    }
    expect(await fast.renew([{ session: 'a/1', leases: [given!] }])).toEqual([[]]);
    const sweepFor = async (ms: number): Promise<number> => {
      let expired = 0;
      for (const until = passedMs + ms; passedMs < until; passedMs += 1000)
        for (const backend of [slow, fast]) expired += (await backend.sweep()).expired;
      return expired;
    };
    expect(await sweepFor(RULES.leaseMs / 2)).toBe(0);
    expect(await sweepFor(RULES.leaseMs)).toBe(1);
    expect((await slow.status('q')).counts.ready).toBe(1);
    expect((await slow.story('q', '1'))?.history).toMatchObject([{ end: 'expired' }]);
  });

  it('is not blocked by a server that was stopped inside a transaction', async () => {
    const address = server.database('stopped');
    const store = await openPostgres(address);
    await using backend = new StoredQueues({ store, rules: RULES, clock: realClock, rng: createRng(1), sharedNow: store.sharedNow });
    await backend.push('q', itemsOf('1'));
    const [locked, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using other = await openPostgres(address);
    const stopped = other.transaction(async (rows) => {
      await rows.lastLook();
      locked.resolve();
      await resumed.promise;
      await rows.setLastLook(0);
    });
    await locked.promise;
    // Waits until the database has ended the transaction of the stopped server.
    expect(await backend.sweep()).toMatchObject({ expired: 0 });
    resumed.resolve();
    await expect(stopped).rejects.toMatchObject({ code: 'QUEUE_DATABASE_FAILED' });
  });

  it('keeps what the newest worker wrote with the UPSERT of the example, in whatever order they commit', async () => {
    const script = readFileSync(join(ROOT, 'examples/queue/upsert.py'), 'utf8');
    const table = /CREATE TABLE labels .*;/.exec(script)?.[0] ?? '';
    const [, upsert = ''] = /UPSERT = """([^"]*)"""/.exec(script) ?? [];
    let nth = 0;
    const text = upsert.replaceAll('%s', () => `$${++nth}`);
    const client = new pg.Client({ connectionString: server.database('labels') });
    await client.connect();
    await client.query(table);
    for (const [label, generation, token] of [
      ['second worker', 1, 2],
      ['first worker, late', 1, 1],
      ['new model', 2, 3],
      ['old model, late', 1, 9],
    ])
      await client.query(text, ['photo-7.jpg', label, generation, token]);
    const { rows } = await client.query('SELECT label, generation, token FROM labels');
    await client.end();
    expect(rows).toEqual([{ label: 'new model', generation: 2, token: 3 }]);
  });

  it('is refused where a newer Holdfast was, and named without its password', async () => {
    const address = server.database('newer');
    const store = await openPostgres(address);
    await store[Symbol.asyncDispose]();
    const client = new pg.Client({ connectionString: address });
    await client.connect();
    await client.query('INSERT INTO holdfast_queue.form (version) VALUES (99)');
    await client.end();
    await expect(openPostgres(address)).rejects.toMatchObject({ code: 'QUEUE_DATABASE_VERSION' });
    const wrong = address.replace('holdfast@', 'holdfast:secret-word@').replace(String(server.port), '1');
    await expect(openPostgres(wrong)).rejects.toMatchObject({
      code: 'QUEUE_DATABASE_FAILED',
      message: expect.not.stringContaining('secret-word'),
    });
  });
});
