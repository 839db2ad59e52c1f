import type { Rng } from '../core/rng.ts';
import { backOffMs } from '../domain/queue/back-off.ts';
import { judgeCommit } from '../domain/queue/fencing.ts';
import { ITEM_STATES } from '../domain/queue/item-state.ts';
import { takeHead } from '../domain/queue/take-head.ts';
import type { Commit, CommitAnswer, LeaseRef, QueueRules, Turn } from './backend.ts';
import type { ChangeLedger } from './ledger.ts';
import type { ItemRow, QueueRow, WaitingRow } from './store.ts';
import { done, givenBack, leased, triedInVain } from './transitions.ts';

/** The parts that a turn needs. */
export interface TurnContext {
  readonly ledger: ChangeLedger;
  readonly rules: QueueRules;
  readonly rng: Rng;
  readonly now: number;
  readonly queue: QueueRow;
  /** Committed results, by item and generation; those of this transaction are in the ledger. */
  readonly standing: ReadonlyMap<string, string>;
  /** The notice of the worker, or null. */
  readonly notice: string | null;
  /** Ready items, locked, in the order of lease; leased ones are removed. */
  readonly head: WaitingRow[];
  /** The bytes of values that the answer to one turn may hold. */
  readonly room: number;
}

/** The outcome of one request. */
export interface TakenTurn {
  readonly commits: readonly CommitAnswer[];
  readonly held: readonly boolean[];
  readonly leased: readonly ItemRow[];
}

/** The map key of a result. */
export function resultKey({ item, generation }: { readonly item: number; readonly generation: number }): string {
  return `${item}/${generation}`;
}

/**
 * Decides one request of a worker and records its changes in the ledger: first what it hands in,
 * then the items it gets.
 */
export function takeTurn(context: TurnContext, turn: Turn): TakenTurn {
  const commits = turn.commits.map((commit) => takeCommit(context, turn, commit));
  // The progress of an item that is given back in the same request belongs to the next worker.
  const progress = turn.progress.map((state) => takeProgress(context, state));
  const fails = turn.fails.map((fail) => takeFail(context, turn, fail));
  const held = [...fails, ...takeReleases(context, turn), ...progress];
  return { commits, held, leased: turn.lease > 0 ? lease(context, turn) : [] };
}

function takeCommit({ ledger, standing, now, queue }: TurnContext, { session }: Turn, commit: Commit): CommitAnswer {
  const { item: id, token, generation, result } = commit;
  const item = ledger.item(id);
  const stands = ledger.resultOf(id, generation) ?? standing.get(resultKey(commit)) ?? null;
  if (item === undefined || item.queue !== queue.id) return { verdict: 'fenced', standing: stands };
  const verdict = judgeCommit({ ...item, result: stands }, commit);
  if (verdict === 'write') {
    const { leasedAt } = item;
    ledger.result({
      queue: queue.id,
      item: id,
      generation,
      token,
      result,
      session: session.id,
      node: session.node,
      leasedAt,
      committedAt: now,
    });
    ledger.change(done(item));
  }
  if (verdict === 'differs') {
    ledger.refused({ item: id, generation, token, result, session: session.id, at: now });
    ledger.count(queue.id, 'refused', 1);
  }
  return { verdict, standing: verdict === 'write' ? null : stands };
}

/** The item of a lease that is still held, or null. */
function heldItem({ ledger, queue }: TurnContext, { item: id, token }: LeaseRef): ItemRow | null {
  const item = ledger.item(id);
  return item !== undefined && item.queue === queue.id && item.token === token && item.state === ITEM_STATES.leased ? item : null;
}

function takeFail(context: TurnContext, { session }: Turn, fail: Turn['fails'][number]): boolean {
  const { ledger, rules, rng, now } = context;
  const item = heldItem(context, fail);
  if (item === null) return false;
  const tries = item.tries + 1;
  const retryAt = tries >= rules.tries ? null : now + backOffMs(tries, rng);
  const { row, history } = triedInVain(item, { end: 'failed', now, ...session, detail: fail.error }, retryAt);
  ledger.change(row);
  ledger.history(history);
  ledger.count(item.queue, 'failures', 1);
  return true;
}

function takeReleases(context: TurnContext, { session, releases }: Turn): boolean[] {
  const { ledger, now, notice } = context;
  return releases.map((release) => {
    const item = heldItem(context, release);
    if (item === null) return false;
    const end = notice === null ? 'released' : 'interrupted';
    const { row, history } = givenBack(item, { end, now, ...session, detail: notice });
    ledger.change(row);
    ledger.history(history);
    ledger.count(item.queue, 'givenBack', 1);
    // No more than passed since the lease, whatever the worker says.
    ledger.count(item.queue, 'lostMs', Math.max(0, Math.round(Math.min(release.spentMs, now - item.leasedAt))));
    return true;
  });
}

function takeProgress(context: TurnContext, { item: id, token, state }: Turn['progress'][number]): boolean {
  const item = heldItem(context, { item: id, token });
  if (item !== null) context.ledger.change({ ...item, progress: state });
  return item !== null;
}

function lease({ ledger, rules, now, head, room }: TurnContext, { session, lease: wants }: Turn): ItemRow[] {
  // An earlier turn of this transaction may have committed late to an item that still waits in the
  // database.
  const waiting = head.splice(0).map((row) => ({ ...row, ...ledger.item(row.id) }));
  head.push(...waiting.filter(({ state }) => state === ITEM_STATES.ready));
  const taken = head.splice(0, takeHead(head.slice(0, wants), room));
  const lives = { session: session.id, together: taken.length, now, dueAt: now + rules.leaseMs };
  return taken.map((item) => {
    const row = leased(item, lives);
    ledger.change(row);
    return row;
  });
}
