import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { HARMLESS } from './harmless-mutations.ts';
import type { MutationTask } from './mutations-worker.ts';
import { SCENARIOS } from './scenarios.ts';
import type { Tried } from './try-mutations.ts';

const THREADS = Math.min(4, availableParallelism());

/** Tries the mutations of all scenarios, several scenarios at a time. */
async function tryAll(): Promise<Tried[]> {
  const results: Tried[] = [];
  const known = new Set<string>();
  const left = SCENARIOS.keys().toArray();
  const serve = async (): Promise<void> => {
    const worker = new Worker(new URL('mutations-worker.ts', import.meta.url));
    try {
      for (let scenario = left.shift(); scenario !== undefined; scenario = left.shift()) {
        const tried = await ask(worker, { scenario, known: [...known] });
        for (const step of tried.found) known.add(step);
        results.push(tried);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: THREADS }, serve));
  return results;
}

function ask(worker: Worker, task: MutationTask): Promise<Tried> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.postMessage(task);
  });
}

describe('the protocol with one thing wrong', () => {
  it('is found out, whichever sync is left out and whichever two steps are swapped, unless it is known to be harmless', async () => {
    const tried = await tryAll();
    const found = new Set(tried.flatMap((one) => one.found));
    const survivors = [...new Set(tried.flatMap(({ all }) => all))].filter((step) => !found.has(step)).sort();
    expect(survivors).toEqual(HARMLESS.flatMap(({ mutations: steps }) => steps).sort());
    expect(found.size).toBeGreaterThan(30);
    expect(tried.reduce((sum, { states }) => sum + states, 0)).toBeGreaterThan(15_000);
  });
});
