import { NO_TRACES, type Traces } from './traces.ts';
import { eventually } from './wait.ts';

/**
 * Waits until nothing of a cluster is visible on the machine. Its processes may need a moment to
 * end.
 */
export async function whenNothingIsLeft(seen: () => Traces): Promise<void> {
  await eventually('nothing to be left', () => (JSON.stringify(seen()) === JSON.stringify(NO_TRACES) ? true : null));
}
