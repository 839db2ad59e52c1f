import type { NewItem, Pushed } from './backend.ts';
import type { StoreTransaction } from './store.ts';

/** The items to push, and the time. */
export interface PushFacts {
  readonly queue: string;
  readonly items: readonly NewItem[];
  readonly now: number;
}

/**
 * Adds the items with free keys, and creates the queue if it does not exist. A key in use always
 * keeps its value.
 */
export async function pushItems(rows: StoreTransaction, { queue: name, items, now }: PushFacts): Promise<Pushed[]> {
  const queue = (await rows.queue(name)) ?? (await rows.addQueue(name, now));
  const firsts = new Map<string, NewItem>();
  for (const item of items) if (!firsts.has(item.key)) firsts.set(item.key, item);
  const added = new Set(firsts.size === 0 ? [] : await rows.insertItems(queue.id, [...firsts.values()]));
  const others = [...firsts.keys()].filter((key) => !added.has(key));
  const stored = others.length === 0 ? new Map<string, string>() : await rows.valuesByKey(queue.id, others);
  if (added.size > 0) await rows.count([{ queue: queue.id, name: 'ready', by: added.size }]);
  return items.map((item): Pushed => {
    const { key, value } = item;
    if (firsts.get(key) === item && added.has(key)) return 'added';
    return (stored.get(key) ?? firsts.get(key)?.value) === value ? 'present' : 'conflict';
  });
}
