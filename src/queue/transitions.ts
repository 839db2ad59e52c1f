import { ITEM_STATES } from '../domain/queue/item-state.ts';
import { countsAsDeath } from '../domain/queue/poison.ts';
import type { LeaseEnd } from './backend.ts';
import type { HistoryRow, ItemRow } from './store.ts';

/** The end of a lease: the new state of the item, and the line of its history. */
export interface EndedLease {
  readonly row: ItemRow;
  readonly history: HistoryRow;
}

/** The place and the reason of the end of a lease. */
export interface LeaseEndFacts {
  readonly end: LeaseEnd;
  readonly now: number;
  readonly node: string;
  readonly process: string;
  readonly detail: string | null;
}

/** Leases the item to the worker. The token grows with every lease and is never issued twice. */
export function leased(
  row: ItemRow,
  lease: { readonly session: string; readonly together: number; readonly now: number; readonly dueAt: number },
): ItemRow {
  const { session, together, now, dueAt } = lease;
  const token = row.token + 1;
  return { ...row, state: ITEM_STATES.leased, token, isOpen: true, session, together, leasedAt: now, dueAt };
}

/** Commits the result; nothing is left to lease. */
export function done(row: ItemRow): ItemRow {
  return { ...row, state: ITEM_STATES.done, isOpen: false, isAlone: false, session: '', dueAt: 0, progress: null };
}

/** Returns the item: it is ready at once, and its token can no longer commit. */
export function givenBack(row: ItemRow, facts: LeaseEndFacts): EndedLease {
  return { row: { ...waiting(row), isOpen: false }, history: historyOf(row, facts, false) };
}

/**
 * Records an error from the worker. The item waits for its next try, or has failed for good
 * (`retryAt` null).
 */
export function triedInVain(row: ItemRow, facts: LeaseEndFacts, retryAt: number | null): EndedLease {
  const state = retryAt === null ? ITEM_STATES.failed : ITEM_STATES.delayed;
  const after = { ...waiting(row), state, isOpen: false, tries: row.tries + 1, dueAt: retryAt ?? 0 };
  return { row: after, history: historyOf(row, facts, false) };
}

/**
 * Ends the lease of a worker that was lost without a notice. Its token may still commit until
 * another worker gets the item, so a late result counts. A death in a batch counts against none of
 * its items, but from now on they are leased alone.
 */
export function lostLease(row: ItemRow, facts: LeaseEndFacts, explanation: string | null): EndedLease {
  const isDeath = countsAsDeath({ together: row.together, explanation });
  const after = { ...waiting(row), deaths: row.deaths + (isDeath ? 1 : 0), isAlone: row.isAlone || explanation === null };
  return { row: after, history: historyOf(row, facts, isDeath) };
}

/** Sets the item aside for a person, because too many workers died with it. */
export function setAside(row: ItemRow): ItemRow {
  return { ...row, state: ITEM_STATES.aside, isOpen: false };
}

/** Removes the item on a person’s request, or for a new generation. */
export function takenAway(row: ItemRow, facts: LeaseEndFacts): { readonly row: ItemRow; readonly history: HistoryRow | null } {
  const history = row.state === ITEM_STATES.leased ? historyOf(row, facts, false) : null;
  return { row: { ...waiting(row), state: ITEM_STATES.cancelled, isOpen: false }, history };
}

/** Restarts the item as if newly pushed; its token keeps growing. */
export function renewed(row: ItemRow, generation: number): ItemRow {
  const progress = generation === row.generation ? row.progress : null;
  return { ...waiting(row), isOpen: false, tries: 0, deaths: 0, isAlone: false, generation, progress };
}

function waiting(row: ItemRow): ItemRow {
  return { ...row, state: ITEM_STATES.ready, session: '', dueAt: 0 };
}

function historyOf(row: ItemRow, { end, now, node, process, detail }: LeaseEndFacts, isDeath: boolean): HistoryRow {
  const { id, token, generation, session, leasedAt, together } = row;
  return { item: id, token, generation, end, leasedAt, endedAt: now, session, node, process, together, isDeath, detail };
}
