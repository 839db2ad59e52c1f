import type { Clock } from '../core/clock.ts';
import type { Rng } from '../core/rng.ts';
import { ITEM_STATES, OPEN_STATES, STATE_NAMES, type ItemState, type StateCode } from '../domain/queue/item-state.ts';
import { BEAT_MS, downtimeShift } from '../domain/queue/lease-times.ts';
import type {
  FailedItem,
  ItemStory,
  LeaseRef,
  NewItem,
  Page,
  Pushed,
  QueueBackend,
  QueueRules,
  QueueStatus,
  Renewal,
  Retry,
  Session,
  Step,
  StoredResult,
  Sweep,
  Turn,
  TurnAnswer,
} from './backend.ts';
import { DoneTallies } from './done-tallies.ts';
import { ChangeLedger } from './ledger.ts';
import { forgiveDeaths, type Loss, recordLosses } from './losses.ts';
import { asOrdinary, ordinaryAnswers } from './ordinary-turns.ts';
import { pushItems } from './push-items.ts';
import type { ItemRow, QueueRow, QueueStore, StoreTransaction } from './store.ts';
import { renewed, takenAway } from './transitions.ts';
import { roomOf, takeTurns } from './take-turns.ts';
import { unknownQueue } from './unknown-queue.ts';

/** The parts that a backend needs. */
export interface EngineOptions {
  readonly store: QueueStore;
  readonly rules: QueueRules;
  readonly clock: Clock;
  readonly rng: Rng;
  /**
   * The time of the database, for servers that share one: a lease that one of them gave out must
   * end at the same moment for all. Null: this server is the only one, and its own clock counts.
   */
  readonly sharedNow: (() => Promise<number>) | null;
}

const SWEEP_ITEMS = 1000;
const HISTORY_ENTRIES = 1000;
/** The period of the rate: the last minute. */
const RATE_MS = 60_000;
/** The shortest period that gives a rate. */
const SHORTEST_RATE_MS = 5000;
const KEEP_TALLIES_MS = 10 * RATE_MS;
const KEEP_SESSIONS_MS = 24 * 60 * 60_000;
const TIDY_MS = 60_000;
/** A name that no queue can have. */
const DROPPED = '!dropped/';

/**
 * The semantics of a queue over any database’s rows: reads the rows of a call, decides, and writes
 * the changes in one transaction.
 */
export class StoredQueues implements QueueBackend {
  readonly #store: QueueStore;
  readonly #rules: QueueRules;
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #sharedNow: EngineOptions['sharedNow'];
  /** How far the shared clock is ahead of our own. */
  #aheadMs = 0;
  readonly #tallies = new DoneTallies();
  #tidied = 0;

  constructor({ store, rules, clock, rng, sharedNow }: EngineOptions) {
    this.#sharedNow = sharedNow;
    this.#store = store;
    this.#rules = rules;
    this.#clock = clock;
    this.#rng = rng;
  }

  get place(): string {
    return this.#store.place;
  }

  push(queue: string, items: readonly NewItem[]): Promise<readonly Pushed[]> {
    return this.#store.transaction((rows) => pushItems(rows, { queue, items, now: this.#now() }));
  }

  async turns(turns: readonly Turn[]): Promise<readonly TurnAnswer[]> {
    const now = this.#now();
    const answers = await this.#taken(turns, now);
    this.#tallies.add(turns, answers, now);
    return answers;
  }

  async #taken(turns: readonly Turn[], now: number): Promise<readonly TurnAnswer[]> {
    const ordinary = asOrdinary(turns, { now, dueAt: now + this.#rules.leaseMs, room: roomOf(turns) });
    const answer = ordinary === null ? null : await this.#store.ordinaryTurns(ordinary);
    if (answer !== null) return ordinaryAnswers(turns, answer);
    const context = { rules: this.#rules, rng: this.#rng, now };
    const answers = await this.#store.transaction((rows) => takeTurns(rows, turns, context));
    return answers();
  }

  renew(renewals: readonly Renewal[]): Promise<readonly (readonly LeaseRef[])[]> {
    return this.#store.transaction(async (rows) => {
      const now = this.#now();
      await rows.seeSessions([...new Set(renewals.map(({ session }) => session))].sort(), now);
      const ids = [...new Set(renewals.flatMap(({ leases }) => leases.map(({ item }) => item)))].sort((a, b) => a - b);
      const items = new Map((ids.length === 0 ? [] : await rows.items(ids)).map((row) => [row.id, row]));
      // A worker that never received a lease does not name it, so that lease expires.
      const held = renewals.flatMap(({ session, leases }) => leases.filter((one) => isHeld(items.get(one.item), one, session)));
      if (held.length > 0)
        await rows.extendLeases(
          [...new Set(held.map(({ item }) => item))].sort((a, b) => a - b),
          now + this.#rules.leaseMs,
        );
      return renewals.map(({ session, leases }) => leases.filter((one) => !isHeld(items.get(one.item), one, session)));
    });
  }

  async connected(session: Session): Promise<number> {
    let connection = 1;
    await this.#changing(async (rows, ledger) => {
      const known = await rows.session(session.id);
      connection = (known?.connection ?? 0) + 1;
      await rows.putSession({ ...session, connection, notice: known?.notice ?? null }, this.#now());
      // A worker that reconnects was cut off: it did not die with its items.
      if (connection > 1) await forgiveDeaths({ rows, ledger, rules: this.#rules }, session.id, 'the worker reconnected');
    });
    return connection;
  }

  disconnected(session: string, connection: number, silentMs: number): Promise<Sweep> {
    return this.#changing(async (rows, ledger) => {
      const known = await rows.session(session);
      if (known === null || known.connection !== connection) return;
      await this.#lose({ rows, ledger, session }, { explanation: null, silentMs });
    });
  }

  explain(session: string, notice: string | null, isGone: boolean): Promise<Sweep> {
    return this.#changing(async (rows, ledger) => {
      if (notice !== null) {
        const known = (await rows.session(session)) ?? { id: session, node: '', process: session, connection: 0, notice: null };
        await rows.putSession({ ...known, notice }, this.#now());
        await forgiveDeaths({ rows, ledger, rules: this.#rules }, session, notice);
      }
      if (isGone) await this.#lose({ rows, ledger, session }, { explanation: notice, silentMs: 0 });
    });
  }

  sessionsIn(pod: string): Promise<readonly string[]> {
    return this.#store.sessionsIn(pod);
  }

  async sweep(): Promise<Sweep> {
    await this.#setClock();
    const now = this.#now();
    let [expired, extendedMs] = [0, 0];
    let forgetTallies = (): void => {};
    const { woken } = await this.#changing(async (rows, ledger) => {
      extendedMs = await this.#look(rows, now);
      const due = await rows.dueItems(now, SWEEP_ITEMS);
      ledger.know(due);
      const leased = due.filter(({ state }) => state === ITEM_STATES.leased);
      expired = leased.length;
      await recordLosses({ rows, ledger, rules: this.#rules }, leased, { end: 'expired', now, explanation: null, silentMs: 0 });
      for (const item of due) if (item.state === ITEM_STATES.delayed) ledger.change({ ...item, state: ITEM_STATES.ready, dueAt: 0 });
      forgetTallies = await this.#tallies.write(rows);
    });
    forgetTallies();
    if (now - this.#tidied >= TIDY_MS) {
      this.#tidied = now;
      await this.#store.transaction((rows) => rows.tidy(now - KEEP_TALLIES_MS, now - KEEP_SESSIONS_MS));
    }
    await this.#store.transaction((rows) => rows.deleteDropped(DROPPED, SWEEP_ITEMS));
    return { woken, expired, extendedMs };
  }

  queues(): Promise<readonly string[]> {
    return this.#store.queueNames();
  }

  async status(name: string): Promise<QueueStatus> {
    const queue = await this.#known(name);
    const since = this.#now() - RATE_MS;
    const [counts, stored, workers] = await Promise.all([
      this.#store.counts(queue.id),
      this.#store.tallied(queue.id, since),
      this.#store.workers(queue.id),
    ]);
    const recent = this.#tallies.of(name, since);
    const first = stored.first ?? recent.first ?? 0;
    const of = (key: string): number => counts.get(key) ?? 0;
    const byState = Object.fromEntries(STATE_NAMES.map((state) => [state, of(state)])) as Record<ItemState, number>;
    return {
      queue: name,
      isPaused: queue.isPaused,
      counts: byState,
      total: STATE_NAMES.reduce((sum, state) => sum + of(state), 0),
      givenBack: of('givenBack'),
      lost: of('lost'),
      failures: of('failures'),
      lostMs: of('lostMs'),
      refused: of('refused'),
      perSecond: (1000 * (stored.done + recent.done)) / Math.max(SHORTEST_RATE_MS, this.#now() - first),
      workers,
    };
  }

  async results(queue: string, page: Page & { readonly generation: number | null }): Promise<readonly StoredResult[]> {
    return this.#store.results((await this.#known(queue)).id, page);
  }

  async failed(queue: string, page: Page): Promise<readonly FailedItem[]> {
    const items = await this.#store.failed((await this.#known(queue)).id, page);
    return Promise.all(items.map(async (item) => ({ ...item, history: await this.#store.history(item.item, 20) })));
  }

  async story(queue: string, key: string): Promise<ItemStory | null> {
    const story = await this.#store.story((await this.#known(queue)).id, key);
    return story === null ? null : { ...story, history: await this.#store.history(story.item, HISTORY_ENTRIES) };
  }

  retry(queue: string, { key, isNewGeneration, isWithCancelled, page }: Retry): Promise<Step> {
    const states: StateCode[] = [ITEM_STATES.failed, ITEM_STATES.aside];
    if (isWithCancelled) states.push(ITEM_STATES.cancelled);
    if (isNewGeneration) states.push(ITEM_STATES.done);
    return this.#step(queue, { key, states, page }, async (items, { rows, ledger }) => {
      for (const item of items) ledger.change(renewed(item, item.generation + (item.state === ITEM_STATES.done ? 1 : 0)));
      await rows.forgetDeaths(items.map(({ id }) => id));
    });
  }

  cancel(queue: string, key: string | null, page: Page): Promise<Step> {
    const states = [...OPEN_STATES, 'failed' as const, 'aside' as const].map((state) => ITEM_STATES[state]);
    const now = this.#now();
    return this.#step(queue, { key, states, page }, async (items, { rows, ledger }) => {
      for (const item of items) {
        const session = item.session === '' ? null : await rows.session(item.session);
        const place = { node: session?.node ?? '', process: session?.process ?? item.session };
        const { row, history } = takenAway(item, { end: 'cancelled', now, ...place, detail: null });
        ledger.change(row);
        if (history !== null) ledger.history(history);
      }
    });
  }

  setPaused(name: string, isPaused: boolean): Promise<void> {
    return this.#store.transaction(async (rows) => rows.pauseQueue((await named(rows, name)).id, isPaused));
  }

  drop(name: string): Promise<void> {
    return this.#store.transaction(async (rows) => {
      const { id } = await named(rows, name);
      await rows.renameQueue(id, `${DROPPED}${id}`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
  }

  #now(): number {
    return this.#clock.now() + this.#aheadMs;
  }

  async #setClock(): Promise<void> {
    if (this.#sharedNow === null) return;
    const asked = this.#clock.now();
    const shared = await this.#sharedNow();
    this.#aheadMs = Math.round(shared - (asked + this.#clock.now()) / 2);
  }

  /** Runs a change, and reports the queues with newly ready items. */
  #changing(work: (rows: StoreTransaction, ledger: ChangeLedger) => Promise<void>): Promise<Sweep> {
    return this.#store.transaction(async (rows) => {
      const ledger = new ChangeLedger();
      await work(rows, ledger);
      await ledger.write(rows);
      const queues = ledger.readied();
      return { woken: queues.length === 0 ? [] : await rows.queueNames(queues), expired: 0, extendedMs: 0 };
    });
  }

  async #lose(
    { rows, ledger, session }: { readonly rows: StoreTransaction; readonly ledger: ChangeLedger; readonly session: string },
    loss: Pick<Loss, 'explanation' | 'silentMs'>,
  ): Promise<void> {
    const held = await rows.leasedBy(session);
    ledger.know(held);
    await recordLosses({ rows, ledger, rules: this.#rules }, held, { ...loss, end: 'lost', now: this.#now() });
  }

  /**
   * Records that a server checks the leases, and answers how long none did. Without any lease it
   * writes nothing.
   */
  async #look(rows: StoreTransaction, now: number): Promise<number> {
    const last = await rows.lastLook();
    const hasLeases = await rows.hasLeases();
    const shift = hasLeases ? downtimeShift(last, now, this.#rules.leaseMs) : null;
    if (shift !== null) await rows.shiftLeases(shift.addMs, shift.latest);
    if (hasLeases ? shift !== null || last === null || now - last >= BEAT_MS / 2 : last !== null)
      await rows.setLastLook(hasLeases ? now : null);
    return shift?.addMs ?? 0;
  }

  #step(
    name: string,
    { key, states, page }: { readonly key: string | null; readonly states: readonly StateCode[]; readonly page: Page },
    change: (items: readonly ItemRow[], world: { readonly rows: StoreTransaction; readonly ledger: ChangeLedger }) => Promise<void>,
  ): Promise<Step> {
    return this.#store.transaction(async (rows) => {
      const { id } = await named(rows, name);
      const one = key === null ? null : await rows.itemByKey(id, key);
      const found = key === null ? await rows.itemsInStates(id, states, page) : one === null ? [] : [one];
      const items = found.filter(({ state }) => states.includes(state));
      const ledger = new ChangeLedger();
      ledger.know(items);
      await change(items, { rows, ledger });
      await ledger.write(rows);
      const last = found.at(-1);
      return { changed: items.length, next: key !== null || last === undefined || found.length < page.limit ? null : last.id };
    });
  }

  async #known(name: string): Promise<QueueRow> {
    const queue = await this.#store.findQueue(name);
    if (queue === null) throw unknownQueue(name);
    return queue;
  }
}

async function named(rows: StoreTransaction, name: string): Promise<QueueRow> {
  const queue = await rows.queue(name);
  if (queue === null) throw unknownQueue(name);
  return queue;
}

function isHeld(item: ItemRow | undefined, { token }: LeaseRef, session: string): boolean {
  return item !== undefined && item.token === token && item.session === session && item.state === ITEM_STATES.leased;
}
