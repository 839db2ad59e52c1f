import { toError } from '../../core/errors.ts';
import type { WorkQueue } from './work-queue.ts';

/** What a reconcile of one key came to. */
export type Reconciled = Verdict & {
  /** The next look comes after this time at the earliest, so that many changes share one. */
  readonly restMs?: number;
};

type Verdict =
  /** Nothing to do until something changes. */
  | { readonly kind: 'settled' }
  /** Look again after this time, although nothing changes. */
  | { readonly kind: 'again'; readonly afterMs: number }
  /**
   * What it read is older than the world, so it decided nothing. The watch brings the next turn;
   * look again after a pause, which grows, in case it does not.
   */
  | { readonly kind: 'behind' }
  /** It failed in a way that may pass: retry after a pause, which grows. */
  | { readonly kind: 'retry'; readonly reason: string }
  /** It failed and would fail again: wait for a change. */
  | { readonly kind: 'stuck'; readonly reason: string };

/** Brings what one key names closer to what it should be. */
export type Reconcile = (key: string, options: { readonly signal: AbortSignal }) => Promise<Reconciled>;

/** What drives reconciles. */
export interface ControllerOptions {
  readonly queue: WorkQueue;
  readonly reconcile: Reconcile;
  readonly workers: number;
  /** Hears of every outcome, for counters and logs. An error that was thrown is a retry. */
  readonly onOutcome: (key: string, outcome: Reconciled) => void;
}

/**
 * Takes keys and reconciles them until the signal ends it; a reconcile that is under way ends
 * first.
 */
export async function runController({ queue, reconcile, workers, onOutcome }: ControllerOptions, signal: AbortSignal): Promise<void> {
  const work = async (): Promise<void> => {
    for (;;) {
      let key: string;
      try {
        key = await queue.take({ signal });
      } catch {
        return;
      }
      const outcome = await outcomeOf(reconcile, key, signal);
      if (signal.aborted) return queue.done(key);
      apply(queue, key, outcome);
      onOutcome(key, outcome);
      queue.done(key, outcome.restMs);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
}

async function outcomeOf(reconcile: Reconcile, key: string, signal: AbortSignal): Promise<Reconciled> {
  try {
    return await reconcile(key, { signal });
  } catch (thrown) {
    return { kind: 'retry', reason: toError(thrown).message };
  }
}

/** The way back into the queue. */
function apply(queue: WorkQueue, key: string, outcome: Reconciled): void {
  if (outcome.kind === 'retry' || outcome.kind === 'behind') return queue.retry(key);
  queue.forget(key);
  if (outcome.kind === 'again') queue.addAfter(key, outcome.afterMs);
}
