import type { ItemStory } from '../../src/queue/backend.ts';

/**
 * The contradictions in an item's history. Every token needs an end, a result or a present holder,
 * and only one token has a result.
 */
export function checkHistory(story: ItemStory): string[] {
  const { key, token, history, results } = story;
  const faults = [...checkState(story), ...checkTokens(story)];
  for (const { token: of } of [...history, ...results]) if (of < 1 || of > token) faults.push(`lease ${of} was never given out`);
  if (new Set(history.map((entry) => entry.token)).size !== history.length) faults.push('a lease has two ends');
  if (new Set(results.map(({ generation }) => generation)).size !== results.length) faults.push('a generation has two results');
  return faults.map((fault) => `${key}: ${fault}`);
}

function checkState({ state, generation, results }: ItemStory): string[] {
  const hasResult = results.some((result) => result.generation === generation);
  return hasResult === (state === 'done') ? [] : [`${state}, ${hasResult ? 'with' : 'without'} a result`];
}

/**
 * Ends after which a late result may still come, because the worker did not give the item back
 * itself.
 */
const SILENT_ENDS: ReadonlySet<string> = new Set(['lost', 'expired', 'interrupted']);

function checkTokens({ token, state, history, results }: ItemStory): string[] {
  const ends = new Map(history.map((entry) => [entry.token, entry.end]));
  const committed = new Set(results.map((result) => result.token));
  return Array.from({ length: token }, (_, i) => i + 1).flatMap((given) => {
    const end = ends.get(given);
    const [isHeld, hasEnded] = [given === token && state === 'leased', end !== undefined || committed.has(given)];
    if (isHeld === hasEnded) return [`lease ${given} ${isHeld ? 'has ended and is held' : 'has no end'}`];
    return committed.has(given) && end !== undefined && !SILENT_ENDS.has(end) ? [`lease ${given} was ${end} and committed`] : [];
  });
}
