import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, realClock } from './clock.ts';

/** Below this there is no hurry. */
const COMFORTABLE_BYTES = 120 * 1024 * 1024;
/** What the process may grow by between two collections. */
const GROWTH_BYTES = 16 * 1024 * 1024;
/** Asking the system costs microseconds, and this is called once for every file: what takes no time leaves nothing behind. */
const MS_BETWEEN_LOOKS = 10;

let lastLook = Number.NEGATIVE_INFINITY;
let allowedBytes = COMFORTABLE_BYTES;
let collect: (() => void) | null = null;

/**
 * To be called where much has just become needless, between one file and the next. The collector does not know that this is such a
 * place; left alone it lets what strangers' files unfolded to pile up while the next ones are read.
 */
export function relieveMemory(clock: Clock = realClock): void {
  const now = clock.monotonic();
  if (now - lastLook < MS_BETWEEN_LOOKS) return;
  lastLook = now;
  const bytes = process.memoryUsage.rss();
  // What a collection freed goes back to the system only a little later: the bound follows it down.
  allowedBytes = Math.min(allowedBytes, allowedAfter(bytes));
  if (bytes < allowedBytes) return;
  collect ??= exposedCollector();
  collect();
  allowedBytes = allowedAfter(process.memoryUsage.rss());
}

/** Gives back what starting up has left behind; for a process that has little to do for a long time. Takes some tens of milliseconds. */
export function shrinkMemory(): void {
  collect ??= exposedCollector();
  collect();
}

function allowedAfter(bytes: number): number {
  return Math.max(COMFORTABLE_BYTES, bytes + GROWTH_BYTES);
}

/**
 * The collector is not exposed by default; a context made after the flag was set has it. Asked for as the last resort, it also gives
 * the pages that it emptied back to the system, which it otherwise keeps for seconds.
 */
function exposedCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext(
    "typeof gc === 'function' ? () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }) : null",
  );
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? (found as () => void) : () => {};
}
