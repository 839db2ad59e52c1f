import { join } from 'node:path';
import { createRng } from '../../../src/core/rng.ts';
import { type Order, ORDERS } from '../model/order.ts';
import { type CrashState, crashStates } from '../model/states.ts';
import { faultsInState } from './check-state.ts';
import { fastFolder, record, type Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';

export interface TriedStates {
  /** The requests to the disk. */
  readonly events: number;
  readonly states: number;
  readonly faults: readonly string[];
}

/** Which of all states to test; all by default. */
type Choose = (states: readonly CrashState[]) => readonly CrashState[];

/** Cuts the power at every instant of a scenario, in every way that the order allows. */
export async function tryStates(scenario: Scenario, order: Order, choose: Choose = (all) => all): Promise<TriedStates> {
  using folder = fastFolder();
  const recording = await record(scenario);
  const states = choose(crashStates(recording, order, createRng(1)));
  const faults: string[] = [];
  for (const [index, state] of states.entries()) {
    const found = await faultsInState(scenario, state, join(folder.path, String(index)));
    if (found.length > 0) faults.push(`after ${state.after}: ${found.join('; ')}`);
  }
  return { events: recording.events.length, states: states.length, faults };
}

/** Does the same for all scenarios: events of each, and states by order. */
export async function tryEveryState() {
  const faults: string[] = [];
  const scenarios: Record<string, Record<string, number>> = {};
  let states = 0;
  for (const scenario of SCENARIOS) {
    for (const order of ORDERS) {
      const tried = await tryStates(scenario, order);
      scenarios[scenario.name] = { ...scenarios[scenario.name], events: tried.events, [order]: tried.states };
      states += tried.states;
      faults.push(...tried.faults.map((fault) => `${scenario.name}, ${order}: ${fault}`));
    }
  }
  return { states, scenarios, faults };
}
