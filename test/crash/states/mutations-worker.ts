import { parentPort } from 'node:worker_threads';
import { SCENARIOS } from './scenarios.ts';
import { tryMutations } from './try-mutations.ts';

/** The order for a thread: a scenario by its place in the list, and the known faults. */
export interface MutationTask {
  readonly scenario: number;
  readonly known: readonly string[];
  /** A scenario with more events is left out. */
  readonly mostEvents: number;
}

parentPort?.on('message', ({ scenario, known, mostEvents }: MutationTask) => {
  const wanted = SCENARIOS[scenario];
  if (wanted === undefined) throw new Error(`there is no scenario ${scenario}`);
  void tryMutations(wanted, new Set(known), mostEvents).then((tried) => parentPort?.postMessage(tried));
});
