/** Why a node does not take a pod. */
export interface Refusal {
  /** `unschedulable`: it could change if pods left the node. `unresolvable`: it could not. */
  readonly code: 'unschedulable' | 'unresolvable';
  /** The scheduler’s plugin that refuses. */
  readonly plugin: string;
  /** In the scheduler’s own words. */
  readonly reasons: readonly string[];
}

/** A refusal with one reason. */
export function refusal(code: Refusal['code'], plugin: string, reason: string): Refusal {
  return Object.freeze({ code, plugin, reasons: Object.freeze([reason]) });
}
