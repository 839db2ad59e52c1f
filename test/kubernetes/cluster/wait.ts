import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 100;
const PATIENCE_MS = 5 * 60_000;

interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  readonly patienceMs?: number;
  readonly pauseMs?: number;
  /** Returns the reason when the condition can never become true. The wait then fails at once. */
  readonly hopeless?: () => string | null;
}

/**
 * Repeats the question until it has an answer. If none comes in time, the error names what was
 * awaited. The limit is generous because machines are busy.
 */
export async function eventually<Answer>(
  what: string,
  ask: () => Promise<Answer | null> | Answer | null,
  { signal, patienceMs = PATIENCE_MS, pauseMs = PAUSE_MS, hopeless }: WaitOptions = {},
): Promise<Answer> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    signal?.throwIfAborted();
    const answer = await ask();
    if (answer !== null) return answer;
    const reason = hopeless?.() ?? null;
    if (reason !== null) throw new Error(`${what} will not come: ${reason}`);
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${patienceMs / 1000} s`);
    await sleep(pauseMs);
  }
}
