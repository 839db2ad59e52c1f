import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the memory bound (256 MB) for any input. By default up to a hundred megabytes of garbage
 * wait for the collector.
 */
const COLLECT_EARLY = '--heap-growing-percent=50';

/** Finishes running optimizations quickly, and starts new ones only for very hot code. */
const OPTIMIZE_LATE = ['--invocation-count-for-maglev=100000', '--invocation-count-for-turbofan=100000'];

/**
 * Keeps the space of new objects small. A stream of items would let it grow to a hundred megabytes,
 * which V8 does not return, and saves no processor time by that.
 */
const KEEP_YOUNG_SMALL = '--semi-space-growth-factor=1';

/** The flags that only some commands have. */
const OWN_FLAGS: ReadonlyMap<string | undefined, readonly string[]> = new Map([
  ['run', OPTIMIZE_LATE],
  ['queue', [KEEP_YOUNG_SMALL]],
]);

/**
 * Sets the V8 flags of a command. A supervisor lives for weeks and is mostly idle; without the
 * optimizing compiler it saves a seventh of its memory. Call this first. As options of Node.js the
 * same flags would disable the embedded code cache, and a start would take a tenth longer.
 */
export function setRuntimeFlags(command: string | undefined): void {
  // Other versions may not know these flags, and would complain.
  if (!/^(22|24)\./.test(process.versions.node)) return;
  for (const flag of [COLLECT_EARLY, ...(OWN_FLAGS.get(command) ?? [])]) setFlagsFromString(flag);
}
