import { readFileSync } from 'node:fs';

/** What every system of today gives at least. */
const USUAL_LIMIT = 256;

/** How many files this process may have open; the least that systems give where it is unknown. */
export function descriptorLimit(): number {
  try {
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    return soft === 'unlimited' ? Infinity : Number(soft ?? USUAL_LIMIT);
  } catch {
    return USUAL_LIMIT;
  }
}
