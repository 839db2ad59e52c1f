import type { Clock } from '../../core/clock.ts';
import type { WatchEvent, WatchQuery } from '../api/kube-api.ts';
import { type Outcome, succeeded } from '../api/outcome.ts';
import type { Change, History } from './write-history.ts';
import { refusal } from './refusals.ts';
import type { Predicate } from './selectors.ts';
import type { WatchFault } from './weather.ts';

/** What one watch needs. */
export interface MemoryWatchOptions {
  readonly history: History;
  readonly query: WatchQuery;
  readonly selects: Predicate;
  readonly hear: (event: WatchEvent) => void;
  readonly fault: () => WatchFault;
  /** The version of the cluster, which a bookmark tells. */
  readonly versionNow: () => number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const BOOKMARK_MS = 60_000;

/** Reports the changes after the version of the query, until the time of the watch is over. */
export async function watchMemory(options: MemoryWatchOptions): Promise<Outcome<null>> {
  const { history, query, clock, signal, fault, hear } = options;
  const endMs = clock.monotonic() + query.timeoutSeconds * 1000;
  let version = Number(query.resourceVersion);
  for (;;) {
    signal.throwIfAborted();
    const change = history.after(version);
    if (change === 'gone') return refusal('gone', `the resource version ${version} is too old`);
    if (clock.monotonic() >= endMs) return succeeded(null);
    if (change === null) {
      const isNext = await nextBefore(history, Math.min(endMs, clock.monotonic() + BOOKMARK_MS), { clock, signal });
      if (isNext || clock.monotonic() >= endMs) continue;
      version = options.versionNow();
      hear({ type: 'bookmark', resourceVersion: String(version) });
      continue;
    }
    version = change.version;
    const event = eventOf(change, options);
    if (event === null) continue;
    const { lagMs, isRepeated, end } = fault();
    if (lagMs > 0) await clock.sleep(lagMs, { signal });
    if (end !== null) return end;
    hear(event);
    if (isRepeated) hear(event);
  }
}

/** Whether a write came before this time. Leaves no waiter behind. */
async function nextBefore(
  history: History,
  atMs: number,
  { clock, signal }: Pick<MemoryWatchOptions, 'clock' | 'signal'>,
): Promise<boolean> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const write = history.next(either).then(() => true);
  const late = clock.sleep(atMs - clock.monotonic(), { signal: either }).then(() => false);
  try {
    return await Promise.race([write, late]);
  } finally {
    over.abort(new Error('the other came first'));
    await Promise.allSettled([write, late]);
  }
}

/** The event for this watch; null: the object was and is none of its own. */
function eventOf(change: Change, { query: { namespace }, selects }: MemoryWatchOptions): WatchEvent | null {
  const { object, before, type } = change;
  if (namespace !== null && object.metadata.namespace !== namespace) return null;
  const [was, is] = [before !== null && selects(before), type !== 'deleted' && selects(object)];
  if (is) return { type: was ? 'modified' : 'added', object };
  return was ? { type: 'deleted', object } : null;
}
