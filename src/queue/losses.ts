import { ITEM_STATES } from '../domain/queue/item-state.ts';
import { isPoison } from '../domain/queue/poison.ts';
import type { LeaseEnd, QueueRules } from './backend.ts';
import type { ChangeLedger } from './ledger.ts';
import type { ItemRow, StoreTransaction } from './store.ts';
import { type LeaseEndFacts, lostLease, setAside } from './transitions.ts';

/** A worker whose node was seen within this time counts as alive there. */
const NODE_LIVES_MS = 10 * 60_000;

/** The known facts about a loss. */
export interface Loss {
  readonly end: Extract<LeaseEnd, 'lost' | 'expired' | 'interrupted'>;
  readonly now: number;
  /** Explains the loss of workers that left no notice. */
  readonly explanation: string | null;
  /** How long the worker was silent before it was declared lost. */
  readonly silentMs: number;
}

/** The parts of a transaction that record a loss. */
export interface LossContext {
  readonly rows: StoreTransaction;
  readonly ledger: ChangeLedger;
  readonly rules: QueueRules;
}

/**
 * Ends the leases of lost workers, sets aside items with too many deaths, and counts the losses:
 * once for each worker.
 */
export async function recordLosses(context: LossContext, items: readonly ItemRow[], loss: Loss): Promise<void> {
  const { rows, ledger } = context;
  for (const [id, held] of Map.groupBy(items, ({ session }) => session)) {
    const { notice, node, process } = (await rows.session(id)) ?? { notice: null, node: '', process: id };
    const detail = notice ?? loss.explanation;
    const facts = { end: detail === null ? loss.end : ('interrupted' as const), now: loss.now, node, process, detail };
    for (const item of held) await recordLoss(context, item, facts);
    countLostTime(ledger, held, loss.now - loss.silentMs);
  }
}

async function recordLoss({ rows, ledger, rules }: LossContext, item: ItemRow, facts: LeaseEndFacts): Promise<void> {
  const { row, history } = lostLease(item, facts, facts.detail);
  ledger.history(history);
  ledger.count(item.queue, facts.detail === null ? 'lost' : 'givenBack', 1);
  // Most items have too few deaths for the rule, so their history is not read.
  const mayBePoison = history.isDeath && row.deaths >= rules.poison;
  const deaths = mayBePoison ? [...(await rows.deathsOf(row.id)), facts] : [];
  const nodes = mayBePoison ? await rows.liveNodes(facts.now - NODE_LIVES_MS) : 0;
  ledger.change(isPoison(deaths, { deaths: rules.poison, nodes }) ? setAside(row) : row);
}

/**
 * A worker’s deaths turn out to be interruptions: they no longer count against their items. An item
 * that was set aside because of them is ready again.
 */
export async function forgiveDeaths({ rows, ledger, rules }: LossContext, session: string, notice: string): Promise<void> {
  const forgiven = Map.groupBy(await rows.forgiveDeaths(session, notice), (item) => item);
  if (forgiven.size === 0) return;
  const items = await rows.items([...forgiven.keys()].sort((a, b) => a - b));
  ledger.know(items);
  for (const item of items) {
    const deaths = Math.max(0, item.deaths - (forgiven.get(item.id)?.length ?? 0));
    const isBack = item.state === ITEM_STATES.aside && deaths < rules.poison;
    ledger.change({ ...item, deaths, state: isBack ? ITEM_STATES.ready : item.state });
  }
}

/**
 * A worker processes the items of one lease in turn, so it can lose only the time of one of them.
 */
function countLostTime(ledger: ChangeLedger, held: readonly ItemRow[], now: number): void {
  const [first] = held;
  if (first === undefined) return;
  const since = held.reduce((newest, { leasedAt }) => Math.max(newest, leasedAt), 0);
  ledger.count(first.queue, 'lostMs', Math.max(0, Math.round(now - since)));
}
