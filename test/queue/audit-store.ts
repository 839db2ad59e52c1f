import type { QueueStore } from '../../src/queue/store.ts';
import { STATE_NAMES } from '../../src/domain/queue/item-state.ts';
import { checkHistory } from './audit.ts';

/** What the rows of a store show at the end. */
export interface Audit {
  readonly done: number;
  readonly leases: number;
  readonly faults: readonly string[];
}

/**
 * Compares every item of a queue with its history: no item is lost or written twice, every lease
 * has its end, and every count is right.
 */
export async function auditStore(
  store: QueueStore,
  queue: string,
  items: readonly { readonly key: string; readonly value: string }[],
): Promise<Audit> {
  const row = await store.findQueue(queue);
  if (row === null) return { done: 0, leases: 0, faults: ['the queue is lost'] };
  const faults: string[] = [];
  const seen = new Map<string, number>();
  let leases = 0;
  for (const { key, value } of items) {
    const story = await store.story(row.id, key);
    if (story === null) {
      faults.push(`${key} is lost`);
      continue;
    }
    if (story.value !== value) faults.push(`${key} has another value`);
    seen.set(story.state, (seen.get(story.state) ?? 0) + 1);
    leases += story.token;
    faults.push(...checkHistory({ ...story, history: await store.history(story.item, 100_000) }));
  }
  const counts = await store.counts(row.id);
  for (const state of STATE_NAMES) {
    const [counted, found] = [counts.get(state) ?? 0, seen.get(state) ?? 0];
    if (counted !== found) faults.push(`${found} items are ${state}, but ${counted} are counted`);
  }
  return { done: seen.get('done') ?? 0, leases, faults };
}
