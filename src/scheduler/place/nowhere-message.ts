import type { Refusal } from '../filter/verdict.ts';

/**
 * The scheduler’s words for a pod that no node takes: `0/4 nodes are available: 4 Too many pods.`
 */
export function nowhereMessage(refusals: readonly (Refusal | null)[]): string {
  if (refusals.length === 0) return 'no nodes available to schedule pods';
  const counts = new Map<string, number>();
  for (const refusal of refusals) for (const reason of refusal?.reasons ?? []) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const told = [...counts].map(([reason, count]) => `${count} ${reason}`).sort(byBytes);
  return `0/${refusals.length} nodes are available:${told.length === 0 ? '' : ` ${told.join(', ')}.`}`;
}

/** Go sorts text by its bytes; all reasons are ASCII, where code units say the same. */
function byBytes(first: string, second: string): number {
  return first < second ? -1 : Number(first > second);
}
