import type { OperatorWorld } from './world.ts';

const LOG_LINES = 20;
const LOG_BYTES = 64 * 1024;

/** A pod and its container to read the log of. */
export interface LoggedPod {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
}

/** The name of a pod, and the last lines of its log; null: there is none, or it cannot be read. */
export async function readLogTail(
  { api }: OperatorWorld,
  { namespace, name, container }: LoggedPod,
  signal: AbortSignal,
): Promise<readonly [string, string | null]> {
  const outcome = await api.logTail({ namespace, name }, { container, lines: LOG_LINES, mostBytes: LOG_BYTES, signal });
  return [name, outcome.ok ? outcome.value : null];
}
