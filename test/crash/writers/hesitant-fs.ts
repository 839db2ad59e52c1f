import { type DurableFs, realFs } from '../../../src/store/disk/durable-fs.ts';
import type { Rng } from '../../../src/core/rng.ts';

export interface Hesitation {
  /** The probability of a wait before a call, in [0, 1]. */
  readonly likelihood: number;
  /** The longest wait, in milliseconds. */
  readonly longest: number;
  /** The call at which the process kills itself, counted from 1; null for never. */
  readonly killAt: number | null;
  /** Leaves out the moves that fence older attempts, to show that the rounds detect this. */
  readonly isSabotaged: boolean;
}

/**
 * The real file system for a writer that sometimes stops before a call, and may be killed there:
 * the other writers overtake it.
 */
export function hesitantFs(rng: Rng, { likelihood, longest, killAt, isSabotaged }: Hesitation): DurableFs {
  let calls = 0;
  const hesitate = (): void => {
    calls += 1;
    if (calls === killAt) process.kill(process.pid, 'SIGKILL');
    if (rng.next() < likelihood) pause(rng.next() * longest);
  };
  const hesitant = { ...realFs } as Record<keyof DurableFs, (...parameters: never[]) => unknown>;
  for (const [name, call] of Object.entries(realFs) as [keyof DurableFs, (...parameters: never[]) => unknown][]) {
    hesitant[name] = (...parameters) => {
      hesitate();
      if (isSabotaged && name === 'rename' && String(parameters[1]).includes('fenced')) return undefined;
      return call(...parameters);
    };
  }
  return hesitant as unknown as DurableFs;
}

/** Blocks the process, as a slow disk would. */
export function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
