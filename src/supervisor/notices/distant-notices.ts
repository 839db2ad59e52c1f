import type { Clock } from '../../core/clock.ts';
import type { Notice } from '../../domain/grace/notice.ts';

/** An end that is further ahead than this leaves time to train. */
const NEAR_MS = 10 * 60_000;
/** The longest single sleep: timers hold no longer time, and the wall clock may jump. */
const LONGEST_SLEEP_MS = 60_000;

/** How long before its deadline a notice ends the attempt; at least the promised grace. */
export function nearnessMs(graceMs: number): number {
  return Math.max(NEAR_MS, graceMs);
}

/** Whether a notice announces an end so far ahead that the trainer can train on. */
export function isDistant({ terminating, deadlineMs }: Notice, nowMs: number, graceMs: number): boolean {
  return terminating && deadlineMs !== null && deadlineMs - nowMs > nearnessMs(graceMs);
}

interface Wait {
  readonly clock: Clock;
  readonly nearMs: number;
  readonly onNear: () => void;
}

/** The notices whose end is far ahead, each with the wait until it is near. */
export class DistantNotices {
  readonly #waits = new Map<string, { readonly deadlineMs: number | null; readonly stop: AbortController }>();

  /**
   * Waits for the end of this notice, in place of an earlier one from the same source. Returns
   * false when the source repeats itself.
   */
  set(notice: Notice, wait: Wait): boolean {
    const key = keyOf(notice);
    if (this.#waits.get(key)?.deadlineMs === notice.deadlineMs) return false;
    this.delete(notice);
    const stop = new AbortController();
    this.#waits.set(key, { deadlineMs: notice.deadlineMs, stop });
    void this.#await(notice, wait, stop.signal);
    return true;
  }

  async #await(notice: Notice, wait: Wait, signal: AbortSignal): Promise<void> {
    try {
      await untilNear(notice, wait, signal);
    } catch {
      // The notice was withdrawn, or the run has ended.
      return;
    }
    this.delete(notice);
    wait.onNear();
  }

  /** Stops the wait for this notice. */
  delete(notice: Pick<Notice, 'cause' | 'source'>): void {
    const key = keyOf(notice);
    this.#waits.get(key)?.stop.abort(new Error('the wait was cancelled'));
    this.#waits.delete(key);
  }

  /** Stops all waits. */
  clear(): void {
    for (const { stop } of this.#waits.values()) stop.abort(new Error('every wait was cancelled'));
    this.#waits.clear();
  }
}

async function untilNear({ deadlineMs }: Notice, { clock, nearMs }: Wait, signal: AbortSignal): Promise<void> {
  for (;;) {
    const leftMs = (deadlineMs ?? 0) - nearMs - clock.now();
    if (leftMs <= 0) return;
    await clock.sleep(Math.min(leftMs, LONGEST_SLEEP_MS), { signal });
  }
}

function keyOf({ cause, source }: Pick<Notice, 'cause' | 'source'>): string {
  return `${source} ${cause}`;
}
