import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { mutations } from '../model/mutations.ts';
import { crashStates } from '../model/states.ts';
import { faultsInState } from './check-state.ts';
import { HARMLESS } from './harmless-mutations.ts';
import { OTHER_SCENARIOS } from './other-scenarios.ts';
import { SAVE_SCENARIOS } from './save-scenarios.ts';
import { fastFolder, record, type Scenario } from './scenario.ts';

/** The step of the protocol that a mutation is about, whichever rank, attempt or save it was recorded with. */
function normalise(name: string): string {
  return name
    .replaceAll(/id-[a-z]+-\d+/g, 'ID')
    .replaceAll(/\.holdfast\/attempts\/\d+\/staging\/ID/g, 'STAGED')
    .replaceAll(/(attempts|fenced|ranks)\/\d+/g, '$1/N')
    .replaceAll(/(rank|shard|checkpoint)-\d+/g, '$1-N')
    .replaceAll(/step-\d+(-a\d+)?/g, 'step-N')
    .replaceAll(/sync-folder (?= with|$)/g, 'sync-folder RUN')
    .trim();
}

/** Mutations that this scenario shows to be faults, and all that there were. */
async function tryMutations(scenario: Scenario, known: ReadonlySet<string>): Promise<{ found: Set<string>; all: Set<string> }> {
  using folder = fastFolder();
  const recording = await record(scenario);
  const [found, all] = [new Set<string>(), new Set<string>()];
  // Most states of a mutant are states of the protocol itself.
  const checked = new Map<string, boolean>();
  for (const { name, events } of mutations(recording)) {
    const step = normalise(name);
    all.add(step);
    if (known.has(step) || found.has(step)) continue;
    for (const state of crashStates({ ...recording, events }, 'weakest', createRng(1))) {
      const key = `${state.key} ${[...state.promises].join()}`;
      const isBad = checked.get(key) ?? (await faultsInState(scenario, state, join(folder.path, String(checked.size)))).length > 0;
      checked.set(key, isBad);
      if (!isBad) continue;
      found.add(step);
      break;
    }
  }
  return { found, all };
}

describe('the protocol with one thing wrong', () => {
  it('is found out, whichever sync is left out and whichever two steps are swapped, unless it is known to be harmless', async () => {
    const [found, all] = [new Set<string>(), new Set<string>()];
    for (const scenario of [...SAVE_SCENARIOS, ...OTHER_SCENARIOS]) {
      const tried = await tryMutations(scenario, found);
      for (const step of tried.found) found.add(step);
      for (const step of tried.all) all.add(step);
    }
    const survivors = [...all].filter((step) => !found.has(step)).sort();
    expect(survivors).toEqual(HARMLESS.flatMap(({ mutations: steps }) => steps).sort());
    expect(found.size).toBeGreaterThan(30);
  });
});
