import type { Shape } from '../loss/fragmentation.ts';
import type { World } from '../world/world.ts';

/** From worst to least, as `lint` has them. */
export const RISK_SEVERITIES = ['error', 'warning', 'info'] as const;
/** How much a risk can cost. */
export type RiskSeverity = (typeof RISK_SEVERITIES)[number];

/** Every standing risk that `whatif audit` looks for. */
export const RISKS = {
  POLICY_UNKNOWN: { severity: 'error', title: 'a preemptionPolicy that does not exist' },
  WAITS_BEHIND_LESS_IMPORTANT: { severity: 'warning', title: 'a pod waits while less important ones hold the room' },
  SERVICE_BELOW_TRAINING: { severity: 'warning', title: 'a service is less important than training' },
  TRAINING_EVICTABLE: { severity: 'warning', title: 'training that other classes may evict' },
  MAY_EVICT_FIRST: { severity: 'warning', title: 'a pod asks for room, and the scheduler may evict before gangs save' },
  BUDGET_NOT_PROTECTING: { severity: 'warning', title: 'a budget that preemption may break' },
  POD_WITHOUT_CLASS: { severity: 'info', title: 'accelerators without a priority class' },
  GANG_STOPS_WITH_ONE: { severity: 'info', title: 'a gang that one eviction stops' },
  FRAGMENTED: { severity: 'info', title: 'free accelerators that no common request fits' },
  CLASS_UNUSED: { severity: 'info', title: 'a priority class that nothing uses' },
} as const satisfies Record<string, { readonly severity: RiskSeverity; readonly title: string }>;

/** The stable name of a kind of risk. */
export type RiskCode = keyof typeof RISKS;

/** One risk, with its evidence and the smallest fix. */
export interface Risk {
  readonly code: RiskCode;
  readonly subject: string;
  readonly evidence: string;
  readonly fix: string;
}

/** What the rules share, so that it is worked out once. */
export interface Audited {
  readonly world: World;
  readonly classes: readonly Class[];
  readonly shapes: readonly Shape[];
}

/** A priority class of the cluster. */
export interface Class {
  readonly name: string;
  readonly value: number;
  /** As written, whatever it is. */
  readonly policy: string | null;
}

/** Finds every risk of one or a few kinds in a cluster. */
export type Rule = (audited: Audited) => readonly Risk[];
