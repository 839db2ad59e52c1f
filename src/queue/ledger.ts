import { ITEM_STATES, stateName, type StateCode } from '../domain/queue/item-state.ts';
import type { CountDelta, HistoryRow, ItemRow, RefusedRow, ResultRow, StoreTransaction } from './store.ts';

/**
 * Collects the changes of one transaction and writes them in few statements: each item once,
 * whatever its number of changes.
 */
export class ChangeLedger {
  readonly #before = new Map<number, StateCode>();
  readonly #rows = new Map<number, ItemRow>();
  readonly #changed = new Set<number>();
  readonly #counts = new Map<string, CountDelta>();
  readonly #history: HistoryRow[] = [];
  readonly #results = new Map<string, ResultRow>();
  readonly #refused: RefusedRow[] = [];

  /**
   * Adds locked rows as stored. An item that is already known has changed here and keeps its state.
   */
  know(rows: readonly ItemRow[]): void {
    for (const row of rows) {
      if (this.#rows.has(row.id)) continue;
      this.#rows.set(row.id, row);
      this.#before.set(row.id, row.state);
    }
  }

  /** The current state of an item in this transaction. */
  item(id: number): ItemRow | undefined {
    return this.#rows.get(id);
  }

  change(row: ItemRow): void {
    this.#rows.set(row.id, row);
    this.#changed.add(row.id);
  }

  history(row: HistoryRow): void {
    this.#history.push(row);
  }

  result(row: ResultRow): void {
    this.#results.set(`${row.item}/${row.generation}`, row);
  }

  /** A result of this transaction. */
  resultOf(item: number, generation: number): string | undefined {
    const row = this.#results.get(`${item}/${generation}`);
    return row?.result;
  }

  /** The queues with newly ready items. */
  readied(): number[] {
    const ready = [...this.#changed].flatMap((id) => this.#rows.get(id) ?? []).filter(({ state }) => state === ITEM_STATES.ready);
    return [...new Set(ready.map(({ queue }) => queue))];
  }

  refused(row: RefusedRow): void {
    this.#refused.push(row);
  }

  count(queue: number, name: string, by: number): void {
    const key = `${queue}\n${name}`;
    this.#counts.set(key, { queue, name, by: (this.#counts.get(key)?.by ?? 0) + by });
  }

  async write(rows: StoreTransaction): Promise<void> {
    const changed = [...this.#changed].flatMap((id) => this.#rows.get(id) ?? []).sort((a, b) => a.id - b.id);
    for (const row of changed) this.#countChange(row);
    if (changed.length > 0) await rows.updateItems(changed);
    if (this.#results.size > 0) await rows.insertResults([...this.#results.values()]);
    if (this.#history.length > 0) await rows.insertHistory(this.#history);
    if (this.#refused.length > 0) await rows.insertRefused(this.#refused);
    // Written last and in one order: every transaction changes these rows, and one that waits for
    // them already holds all its other locks.
    const deltas = [...this.#counts.values()].filter(({ by }) => by !== 0).sort((a, b) => a.queue - b.queue || (a.name < b.name ? -1 : 1));
    if (deltas.length > 0) await rows.count(deltas);
  }

  #countChange(row: ItemRow): void {
    const before = this.#before.get(row.id);
    if (before === undefined || before === row.state) return;
    this.count(row.queue, stateName(before), -1);
    this.count(row.queue, stateName(row.state), 1);
  }
}
