import fc from 'fast-check';
import { expect } from 'vitest';
import { VirtualClock } from '../../src/core/clock.ts';
import { createRng } from '../../src/core/rng.ts';
import type { CommitVerdict } from '../../src/domain/queue/fencing.ts';
import type { Lease, QueueBackend } from '../../src/queue/backend.ts';
import { StoredQueues } from '../../src/queue/engine.ts';
import { checkHistory } from './audit.ts';
import { RULES, type Place } from './conformance.ts';
import { commitOf, lease, releaseOf, session, turn, turnOf } from './drive.ts';

const QUEUE = 'q';
const WORKERS = ['a/1', 'a/2', 'b/1'];
const ALL = { after: 0, limit: 10_000 };

/** The state of an item in the model. */
interface Believed {
  generation: number;
  token: number;
  /** Whether the newest token may still commit. */
  isOpen: boolean;
  /** The holder of the lease and its end; null: no worker holds it. */
  holder: { readonly worker: string; dueAt: number } | null;
  readonly results: Map<number, string>;
}

interface Model {
  readonly items: Map<string, Believed>;
  /** Every lease ever given out. Workers with old ones still try to use them. */
  readonly leases: { readonly worker: string; readonly lease: Lease }[];
}

interface Real {
  readonly backend: QueueBackend;
  readonly clock: VirtualClock;
}

type Command = fc.AsyncCommand<Model, Real>;

/** A command from a function; it can always run. */
function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return { check: () => true, run, toString: () => name };
}

function itemOf(model: Model, key: string): Believed {
  const item = model.items.get(key);
  if (item === undefined) throw new Error(`the queue gave out ${key}, which was never pushed`);
  return item;
}

const push = (keys: readonly string[]): Command =>
  command(`push ${keys.join()}`, async ({ items }, { backend }) => {
    const expected = keys.map((key, i) => (items.has(key) || keys.indexOf(key) < i ? 'present' : 'added'));
    expect(
      await backend.push(
        QUEUE,
        keys.map((key) => ({ key, value: `"${key}"`, priority: key.length % 3 })),
      ),
    ).toEqual(expected);
    for (const key of keys)
      if (!items.has(key)) items.set(key, { generation: 1, token: 0, isOpen: false, holder: null, results: new Map() });
  });

const leaseSome = (worker: string, most: number): Command =>
  command(`lease ${worker} ${most}`, async (model, { backend, clock }) => {
    noteLeases(model, await lease(backend, QUEUE, session(worker), most), { worker, now: clock.now() });
  });

/** Compares new leases with the model, then adds them to it. */
function noteLeases(model: Model, leases: readonly Lease[], { worker, now }: { readonly worker: string; readonly now: number }): void {
  for (const given of leases) {
    const item = itemOf(model, given.key);
    expect({ of: given.key, heldBy: item.holder }).toEqual({ of: given.key, heldBy: null });
    expect(given.token).toBe(item.token + 1);
    expect(given.generation).toBe(item.generation);
    expect(item.results.has(item.generation)).toBe(false);
    Object.assign(item, { token: given.token, isOpen: true, holder: { worker, dueAt: now + RULES.leaseMs } });
    model.leases.push({ worker, lease: given });
  }
}

/** Any lease, new or old, by its number. */
const withLease = (name: string, nth: number, run: (model: Model, real: Real, one: Model['leases'][number]) => Promise<void>): Command =>
  command(`${name} #${nth}`, async (model, real) => {
    const one = model.leases[nth % Math.max(1, model.leases.length)];
    if (one !== undefined) await run(model, real, one);
  });

const commit = (nth: number, result: string): Command =>
  withLease(`commit ${result}`, nth, async (model, { backend }, { worker, lease: given }) => {
    const item = itemOf(model, given.key);
    const stands = item.results.get(given.generation);
    const isNewest = item.token === given.token && item.generation === given.generation && item.isOpen;
    const expected: CommitVerdict = stands === undefined ? (isNewest ? 'write' : 'fenced') : stands === result ? 'same' : 'differs';
    const { commits } = await turn(backend, QUEUE, session(worker), { commits: [commitOf(given, result)] });
    expect(commits).toEqual([{ verdict: expected, standing: expected === 'write' ? null : (stands ?? null) }]);
    if (expected !== 'write') return;
    item.results.set(given.generation, result);
    Object.assign(item, { isOpen: false, holder: null });
  });

/** One worker hands in, and another asks for items, in the same step of the database. */
const commitAndLease = (nth: number, other: string): Command =>
  withLease(`commit and lease ${other}`, nth, async (model, { backend, clock }, { worker, lease: given }) => {
    const commits = [commitOf(given, '1')];
    const [handed, asked] = await backend.turns([turnOf(QUEUE, session(worker), { commits }), turnOf(QUEUE, session(other), { lease: 3 })]);
    if (handed?.commits[0]?.verdict === 'write') {
      const item = itemOf(model, given.key);
      expect([item.token, item.generation, item.isOpen, item.results.has(given.generation)]).toEqual([
        given.token,
        given.generation,
        true,
        false,
      ]);
      item.results.set(given.generation, '1');
      Object.assign(item, { isOpen: false, holder: null });
    }
    noteLeases(model, asked?.leases ?? [], { worker: other, now: clock.now() });
  });

const giveUp = (nth: number, how: 'release' | 'fail'): Command =>
  withLease(how, nth, async (model, { backend }, { worker, lease: given }) => {
    const item = itemOf(model, given.key);
    const isHeld = item.holder !== null && item.token === given.token;
    const { held } = await turn(backend, QUEUE, session(worker), {
      releases: how === 'release' ? [releaseOf(given)] : [],
      fails: how === 'fail' ? [{ item: given.item, token: given.token, error: 'E' }] : [],
    });
    expect(held).toEqual([isHeld]);
    if (isHeld) Object.assign(item, { isOpen: false, holder: null });
  });

const renew = (worker: string): Command =>
  command(`renew ${worker}`, async ({ items, leases }, { backend, clock }) => {
    const own = leases.filter((one) => one.worker === worker).map((one) => one.lease);
    const isLost = ({ key, token }: Lease): boolean => items.get(key)?.holder?.worker !== worker || items.get(key)?.token !== token;
    const [lost] = await backend.renew([{ session: worker, leases: own }]);
    expect(lost).toEqual(own.filter(isLost));
    for (const { holder } of items.values()) if (holder?.worker === worker) holder.dueAt = clock.now() + RULES.leaseMs;
  });

const pass = (ms: number): Command =>
  command(`pass ${ms}`, async ({ items }, { backend, clock }) => {
    for (let left = ms; left > 0; left -= 1000) {
      await clock.advance(1000);
      await backend.sweep();
      for (const item of items.values()) if (item.holder !== null && item.holder.dueAt <= clock.now()) item.holder = null;
    }
  });

/**
 * Nothing serves the queue for a while. Leases get the lost time back, up to the length of a fresh
 * lease.
 */
const away = (ms: number): Command =>
  command(`away ${ms}`, async ({ items }, { backend, clock }) => {
    const isShifted = [...items.values()].some(({ holder }) => holder !== null);
    await backend.sweep();
    await clock.advance(ms);
    await backend.sweep();
    if (!isShifted) return;
    for (const { holder } of items.values()) if (holder !== null) holder.dueAt = Math.min(holder.dueAt + ms, clock.now() + RULES.leaseMs);
  });

const vanish = (worker: string, isExplained: boolean): Command =>
  command(`vanish ${worker}${isExplained ? ' explained' : ''}`, async ({ items }, { backend }) => {
    if (isExplained) await backend.explain(worker, 'DisruptionTarget', true);
    else await backend.disconnected(worker, await backend.connected(session(worker)), 0);
    for (const item of items.values()) if (item.holder?.worker === worker) item.holder = null;
    // The final check covers items that were or will be set aside.
    for (const { key } of await backend.failed(QUEUE, ALL)) itemOf({ items, leases: [] }, key).isOpen = false;
  });

const retry = (isNewGeneration: boolean): Command =>
  command(`retry${isNewGeneration ? ' anew' : ''}`, async ({ items }, { backend }) => {
    const troubled = new Set((await backend.failed(QUEUE, ALL)).map(({ key }) => key));
    await backend.retry(QUEUE, { key: null, isNewGeneration, isWithCancelled: false, page: ALL });
    for (const [key, item] of items) {
      if (troubled.has(key)) Object.assign(item, { isOpen: false, holder: null });
      else if (isNewGeneration && item.results.has(item.generation)) item.generation += 1;
    }
  });

const worker = fc.constantFrom(...WORKERS);
const nth = fc.nat(200);
const COMMANDS = [
  fc.array(fc.constantFrom('a', 'bb', 'ccc', 'd', 'ee'), { minLength: 1, maxLength: 4 }).map(push),
  fc.tuple(worker, fc.integer({ min: 1, max: 3 })).map(([who, most]) => leaseSome(who, most)),
  fc.tuple(worker, fc.integer({ min: 1, max: 3 })).map(([who, most]) => leaseSome(who, most)),
  fc.tuple(nth, fc.constantFrom('1', '2')).map(([which, result]) => commit(which, result)),
  fc.tuple(nth, fc.constantFrom('release' as const, 'fail' as const)).map(([which, how]) => giveUp(which, how)),
  fc.tuple(nth, worker).map(([which, other]) => commitAndLease(which, other)),
  worker.map(renew),
  fc.constantFrom(1000, 12_000, 31_000).map(pass),
  fc.constantFrom(5000, 40_000).map(away),
  fc.tuple(worker, fc.boolean()).map(([who, isExplained]) => vanish(who, isExplained)),
  fc.boolean().map(retry),
];

/**
 * Several workers send any requests in any order while the clock moves. The queue must answer like
 * a small model.
 */
export async function checkModel(makePlace: () => Promise<Place>, runs: { readonly seed: number; readonly count: number }): Promise<void> {
  const property = fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 80, size: 'max' }), async (commands) => {
    await using place = await makePlace();
    const clock = new VirtualClock();
    await using backend = new StoredQueues({ store: await place.open(), rules: RULES, clock, rng: createRng(1), sharedNow: null });
    await backend.push(QUEUE, []);
    const model: Model = { items: new Map(), leases: [] };
    await fc.asyncModelRun(() => ({ model, real: { backend, clock } }), commands);
    const stories = await Promise.all([...model.items.keys()].map((key) => backend.story(QUEUE, key)));
    expect(stories.flatMap((story) => (story === null ? ['an item is lost'] : checkHistory(story)))).toEqual([]);
    for (const story of stories) {
      const results = itemOf(model, story?.key ?? '').results;
      expect(new Map(story?.results.map(({ generation, result }) => [generation, result]))).toEqual(results);
    }
    const { counts } = await backend.status(QUEUE);
    const states = Object.groupBy(stories, (story) => story?.state ?? 'ready');
    expect(counts).toEqual(
      Object.fromEntries(Object.keys(counts).map((state) => [state, states[state as keyof typeof states]?.length ?? 0])),
    );
  });
  await fc.assert(property, { seed: runs.seed, numRuns: runs.count, interruptAfterTimeLimit: 120_000 });
}
