import { setFlagsFromString } from 'node:v8';

/** Keeps the memory bound (256 MB) whatever is read: by default up to a hundred megabytes of what is not needed any more wait for the collector. */
const COLLECT_EARLY = '--heap-growing-percent=50';

/** What is already on its way to be optimized is optimized quickly, and nothing else is unless it is really hot. */
const OPTIMIZE_LATE = ['--invocation-count-for-maglev=100000', '--invocation-count-for-turbofan=100000'];

/**
 * Sets the flags of V8 for a command; a supervisor lives for weeks and has little to do, and without the optimizing compiler a seventh of its memory stays
 * free. To be called first of all, but not as options of Node.js: started with them it would not use the code that it carries compiled, and a start would
 * take a tenth longer.
 */
export function setRuntimeFlags(command: string | undefined): void {
  // Other versions may not know these words, and would complain.
  if (!/^(22|24)\./.test(process.versions.node)) return;
  for (const flag of command === 'run' ? [COLLECT_EARLY, ...OPTIMIZE_LATE] : [COLLECT_EARLY]) setFlagsFromString(flag);
}
