import { parentPort } from 'node:worker_threads';
import { SCENARIOS } from './scenarios.ts';
import { tryMutations } from './try-mutations.ts';

/** What a thread is asked for: a scenario by its place in the list, and what is known to be a fault. */
export interface MutationTask {
  readonly scenario: number;
  readonly known: readonly string[];
}

parentPort?.on('message', ({ scenario, known }: MutationTask) => {
  const wanted = SCENARIOS[scenario];
  if (wanted === undefined) throw new Error(`there is no scenario ${scenario}`);
  void tryMutations(wanted, new Set(known)).then((tried) => parentPort?.postMessage(tried));
});
