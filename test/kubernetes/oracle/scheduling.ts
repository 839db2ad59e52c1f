/** As much of a cluster as the random cases describe, in numbers that are easy to reckon with. */
export interface Resources {
  readonly cpu: number;
  readonly memory: number;
  readonly gpu: number;
}

export interface Taint {
  readonly key: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

export interface Toleration {
  readonly key?: string;
  readonly operator: 'Exists';
  readonly effect?: string;
}

export interface Expression {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  readonly values: readonly string[];
}

/** Pods with this app, in the node's whole domain. */
export interface PodTerm {
  readonly app: string;
  readonly topologyKey: string;
}

export interface Spread extends PodTerm {
  readonly maxSkew: number;
}

export interface NodeCase {
  readonly name: string;
  readonly allocatable: Resources & { readonly pods: number };
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly isCordoned: boolean;
}

export interface PodCase {
  readonly name: string;
  /** Empty for the one that is to be placed. */
  readonly node: string;
  readonly app: string;
  readonly priority: number | undefined;
  /** Seconds; no two are the same. */
  readonly startedAt: number;
  readonly requests: Resources;
  readonly initRequests: Resources;
  readonly hostPort: number | undefined;
  readonly tolerations: readonly Toleration[];
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Any of these, all of the expressions in it; absent when any node will do. */
  readonly nodeTerms: readonly (readonly Expression[])[] | undefined;
  readonly affinity: readonly PodTerm[];
  readonly antiAffinity: readonly PodTerm[];
  readonly spread: Spread | undefined;
  readonly isNeverPreempting: boolean;
}

export interface BudgetCase {
  readonly name: string;
  readonly app: string;
  readonly allowed: number;
  /** Already counted. */
  readonly disrupted: readonly string[];
}

export interface ClusterCase {
  readonly pod: PodCase;
  readonly nodes: readonly NodeCase[];
  readonly pods: readonly PodCase[];
  readonly budgets: readonly BudgetCase[];
}

export const GPU = 'nvidia.com/gpu';
export const HOSTNAME = 'kubernetes.io/hostname';
export const ZONE = 'topology.kubernetes.io/zone';
