import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, realClock } from './clock.ts';

/** Below this there is no need to collect. */
const COMFORTABLE_BYTES = 120 * 1024 * 1024;
/** What the process may grow by between two collections. */
const GROWTH_BYTES = 16 * 1024 * 1024;
/**
 * Asking the system costs microseconds, once for every file. A file that took no time leaves no
 * garbage.
 */
const MS_BETWEEN_LOOKS = 10;

let lastLook = Number.NEGATIVE_INFINITY;
let allowedBytes = COMFORTABLE_BYTES;
let collect: (() => void) | null = null;

/**
 * Frees memory between one file and the next. The collector cannot know that much has just become
 * garbage. Without this, the data of one file piles up while the next ones are read.
 */
export function relieveMemory(clock: Clock = realClock): void {
  const now = clock.monotonic();
  if (now - lastLook < MS_BETWEEN_LOOKS) return;
  lastLook = now;
  const bytes = process.memoryUsage.rss();
  // The allocator returns freed memory to the system a little later, so the bound follows it down.
  allowedBytes = Math.min(allowedBytes, allowedAfter(bytes));
  if (bytes < allowedBytes) return;
  collect ??= exposedCollector();
  collect();
  allowedBytes = allowedAfter(process.memoryUsage.rss());
}

/**
 * Releases the memory that starting up used, for a process that is mostly idle for a long time.
 * Takes some tens of milliseconds.
 */
export function shrinkMemory(): void {
  collect ??= exposedCollector();
  collect();
}

function allowedAfter(bytes: number): number {
  return Math.max(COMFORTABLE_BYTES, bytes + GROWTH_BYTES);
}

/**
 * The collector is not exposed by default; a context made after the flag was set has it. As a
 * last-resort collection it also returns empty pages to the system, which it otherwise keeps for
 * seconds.
 */
function exposedCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext(
    "typeof gc === 'function' ? () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }) : null",
  );
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? (found as () => void) : () => {};
}
