/** As much of a cluster as the random cases describe, in numbers that are easy to reckon with. */
export interface Resources {
  readonly cpu: number;
  readonly memory: number;
  readonly gpu: number;
  /** Ephemeral storage. */
  readonly disk: number;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

export interface Toleration {
  readonly key?: string;
  /** None means `Equal`, and no value the empty one. */
  readonly operator?: 'Exists' | 'Equal';
  readonly value?: string;
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
  /** With fewer domains the emptiest is taken to be empty. */
  readonly minDomains?: number;
  /** Whether the nodes that the pod does not want, or that it does not tolerate, are left out of the count. */
  readonly nodeAffinityPolicy?: 'Honor' | 'Ignore';
  readonly nodeTaintsPolicy?: 'Honor' | 'Ignore';
}

/** What runs before the main container; a sidecar goes on beside it. */
export interface InitCase {
  readonly image: string;
  readonly requests: Resources;
  readonly isSidecar: boolean;
}

/** A wish that counts so much. */
export interface Wish<What> {
  readonly weight: number;
  readonly what: What;
}

export interface NodeCase {
  readonly name: string;
  readonly allocatable: Resources & { readonly pods: number };
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly isCordoned: boolean;
  /** MiB of each image that is there. */
  readonly images: ReadonlyMap<string, number>;
}

export interface PodCase {
  readonly name: string;
  /** Where it runs, or what is promised to it; empty for the one that is to be placed. */
  readonly node: string;
  readonly app: string;
  readonly priority: number | undefined;
  /** Seconds; no two are the same. Infinity for the one, if any, that has not started. */
  readonly startedAt: number;
  readonly image: string;
  readonly requests: Resources;
  /** One after the other. */
  readonly init: readonly InitCase[];
  readonly overhead: Resources | undefined;
  readonly hostPort: number | undefined;
  readonly tolerations: readonly Toleration[];
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Any of these, all of the expressions in it; absent when any node will do. */
  readonly nodeTerms: readonly (readonly Expression[])[] | undefined;
  /** All of the expressions of each. */
  readonly nodeWishes: readonly Wish<readonly Expression[]>[];
  readonly affinity: readonly PodTerm[];
  readonly antiAffinity: readonly PodTerm[];
  readonly nearWishes: readonly Wish<PodTerm>[];
  readonly apartWishes: readonly Wish<PodTerm>[];
  readonly spread: readonly Spread[];
  readonly spreadWishes: readonly Spread[];
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
  /** Those that wait for a node that is promised to them. */
  readonly nominated: readonly PodCase[];
  readonly budgets: readonly BudgetCase[];
}

export const MIB = 2 ** 20;
export const GPU = 'nvidia.com/gpu';
export const HOSTNAME = 'kubernetes.io/hostname';
export const ZONE = 'topology.kubernetes.io/zone';
