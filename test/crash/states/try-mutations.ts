import { join } from 'node:path';
import { createRng } from '../../../src/core/rng.ts';
import { mutations } from '../model/mutations.ts';
import { crashStates } from '../model/states.ts';
import { faultsInState } from './check-state.ts';
import { fastFolder, record, type Scenario } from './scenario.ts';

export interface Tried {
  /** Mutations with a proven fault in this scenario. */
  readonly found: readonly string[];
  /** All mutations, and the number of mutants and distinct states. */
  readonly all: readonly string[];
  readonly mutants: number;
  readonly states: number;
}

/**
 * Tries every mutation of a scenario except the known faults; none if the scenario has too many
 * events.
 */
export async function tryMutations(scenario: Scenario, known: ReadonlySet<string>, mostEvents: number): Promise<Tried> {
  using folder = fastFolder();
  const recording = await record(scenario);
  const [found, all] = [new Set<string>(), new Set<string>()];
  // Most states of a mutant are states of the protocol itself.
  const checked = new Map<string, boolean>();
  const mutants = recording.events.length > mostEvents ? [] : mutations(recording);
  for (const { name, events } of mutants) {
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
  return { found: [...found], all: [...all], mutants: mutants.length, states: checked.size };
}

/**
 * The step of the protocol that a mutation changes, for any rank, attempt or save of the recording.
 */
function normalise(name: string): string {
  return name
    .replaceAll(/id-[a-z]+-\d+/g, 'ID')
    .replaceAll(/ID~[0-9a-f]*~ID~\d+/g, 'GRAVE')
    .replaceAll(/\.holdfast\/attempts\/\d+\/staging\/ID/g, 'STAGED')
    .replaceAll(/(attempts|fenced|ranks)\/\d+/g, '$1/N')
    .replaceAll(/(rank|shard|checkpoint|model|ckpt)-\d+/g, '$1-N')
    .replaceAll(/step-\d+(-a\d+)?/g, 'step-N')
    .replaceAll(/data-\d{5}-of-\d{5}/g, 'data-N')
    .replaceAll(/sync-folder (?= with|$)/g, 'sync-folder RUN')
    .trim();
}
