import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { MutationTask } from './mutations-worker.ts';
import { SCENARIOS } from './scenarios.ts';
import type { Tried } from './try-mutations.ts';

const THREADS = Math.min(4, availableParallelism());

export interface TriedMutations {
  /** Kinds with a proven fault, and kinds that no crash turns into one. */
  readonly found: readonly string[];
  readonly survivors: readonly string[];
  readonly mutants: number;
  /** Distinct states of the mutants. */
  readonly states: number;
}

/**
 * Tries the mutations of all scenarios with at most this many events, several scenarios at a time.
 */
export async function tryEveryMutation(mostEvents = Infinity): Promise<TriedMutations> {
  const results: Tried[] = [];
  const known = new Set<string>();
  const left = SCENARIOS.keys().toArray();
  const serve = async (): Promise<void> => {
    const worker = new Worker(new URL('mutations-worker.ts', import.meta.url));
    try {
      for (let scenario = left.shift(); scenario !== undefined; scenario = left.shift()) {
        const tried = await ask(worker, { scenario, known: [...known], mostEvents });
        for (const step of tried.found) known.add(step);
        results.push(tried);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: THREADS }, serve));
  const sum = (figure: (tried: Tried) => number): number => results.reduce((total, tried) => total + figure(tried), 0);
  return {
    found: [...known].sort(),
    survivors: [...new Set(results.flatMap(({ all }) => all))].filter((step) => !known.has(step)).sort(),
    mutants: sum(({ mutants }) => mutants),
    states: sum(({ states }) => states),
  };
}

async function ask(worker: Worker, task: MutationTask): Promise<Tried> {
  worker.postMessage(task);
  // An error of the worker rejects it.
  const [tried] = (await once(worker, 'message')) as [Tried];
  return tried;
}
