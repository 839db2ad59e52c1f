import { catchesSignal } from '../process/process-table.ts';
import type { Rank } from '../sdk/sdk-server.ts';
import type { Trainer } from '../process/trainer.ts';

/**
 * Asks every rank that can do so to write the stacks of its threads to its standard error, and
 * returns how many it asked. The signal goes only to a process of the trainer that named it and has
 * a handler for it right now. Without a handler most signals kill.
 */
export function dumpStacks(ranks: readonly Rank[], trainer: Pick<Trainer, 'living'>): number {
  const living = new Set(trainer.living());
  return ranks.filter(({ pid, dumpSignal }) => {
    if (dumpSignal === null || !living.has(pid) || !catchesSignal(pid, dumpSignal)) return false;
    try {
      process.kill(pid, dumpSignal);
      return true;
    } catch {
      // The process has just ended.
      return false;
    }
  }).length;
}
