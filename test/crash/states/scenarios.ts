import { LOOSE_SCENARIOS } from './loose-scenarios.ts';
import { OTHER_SCENARIOS } from './other-scenarios.ts';
import { SAVE_SCENARIOS } from './save-scenarios.ts';
import type { Scenario } from './scenario.ts';

/** All operations of the protocol on a run. */
export const SCENARIOS: readonly Scenario[] = [...SAVE_SCENARIOS, ...OTHER_SCENARIOS, ...LOOSE_SCENARIOS];
