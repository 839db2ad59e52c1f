import { catchesSignal } from '../process-table.ts';
import type { Rank } from '../sdk/server.ts';
import type { Trainer } from '../trainer.ts';

/**
 * Has every rank that can write the stacks of its threads to its standard error; returns how many were asked. Only a process of the trainer that has
 * said which signal does that, and has a handler for it right now, gets it: without one most signals kill.
 */
export function dumpStacks(ranks: readonly Rank[], trainer: Pick<Trainer, 'living'>): number {
  const living = new Set(trainer.living());
  return ranks.filter(({ pid, dumpSignal }) => {
    if (dumpSignal === null || !living.has(pid) || !catchesSignal(pid, dumpSignal)) return false;
    try {
      process.kill(pid, dumpSignal);
      return true;
    } catch {
      // It has just ended.
      return false;
    }
  }).length;
}
