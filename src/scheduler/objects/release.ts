/** The rules of the scheduler that differ from release to release. */
export interface ReleaseRules {
  /** The balance of a node is compared with and without the pod, instead of with it only. */
  readonly balanceComparesBefore: boolean;
  /** A pod under several budgets stops at the first one that it violates. */
  readonly budgetsStopAtFirst: boolean;
  /** A preemption that succeeds says so in the pod’s condition. */
  readonly saysPotentialPlacement: boolean;
  /** The plugin of resource claims has a word before those about a preemption that fails. */
  readonly saysNoClaims: boolean;
  /** A PodGroup can be a victim as a whole, and can preempt, if the gate is on. */
  readonly canGroup: boolean;
}

/** A release of Kubernetes, and what its scheduler was told. */
export interface Release {
  /** The 37 of v1.37.1. */
  readonly minor: number;
  /**
   * `GenericWorkload`: Kubernetes’ own gangs. It is off unless set, and a cluster does not show it.
   */
  readonly hasGroups: boolean;
}

/** Each rule and the first release that has it. */
const SINCE: Readonly<Record<keyof ReleaseRules, number>> = {
  balanceComparesBefore: 36,
  budgetsStopAtFirst: 37,
  saysPotentialPlacement: 37,
  saysNoClaims: 34,
  canGroup: 37,
};
/** The first release that no longer has the rule. */
const UNTIL: Partial<typeof SINCE> = { saysNoClaims: 37 };

/** The rules of a release. */
export function rulesOf({ minor, hasGroups }: Release): ReleaseRules {
  const has = (rule: keyof ReleaseRules): boolean => minor >= SINCE[rule] && minor < (UNTIL[rule] ?? Number.POSITIVE_INFINITY);
  return {
    balanceComparesBefore: has('balanceComparesBefore'),
    budgetsStopAtFirst: has('budgetsStopAtFirst'),
    saysPotentialPlacement: has('saysPotentialPlacement'),
    saysNoClaims: has('saysNoClaims'),
    canGroup: has('canGroup') && hasGroups,
  };
}

/** The minor release in a version text such as `v1.37.1` or `v1.33.2-gke.1171000`; null if none. */
export function minorOf(version: string): number | null {
  const match = /^v?1\.(\d{1,3})(?:\.|\+|$)/.exec(version);
  return match === null ? null : Number(match[1]);
}
