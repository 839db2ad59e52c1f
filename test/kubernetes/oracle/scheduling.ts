/** The parts of a cluster that the random cases describe, in small round numbers. */
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
  /** Absent means `Equal`; an absent value means the empty one. */
  readonly operator?: 'Exists' | 'Equal';
  readonly value?: string;
  readonly effect?: string;
}

export interface Expression {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  readonly values: readonly string[];
}

/** A term about the pods with this app in the node's whole domain. */
export interface PodTerm {
  readonly app: string;
  readonly topologyKey: string;
  /** Absent: the namespace of the pod that has the term. */
  readonly namespaces?: readonly string[];
}

export interface Spread extends Omit<PodTerm, 'namespaces'> {
  readonly maxSkew: number;
  /** If there are fewer domains, the smallest count is taken to be zero. */
  readonly minDomains?: number;
  /** Whether to ignore nodes that the pod's affinity or its tolerations exclude. */
  readonly nodeAffinityPolicy?: 'Honor' | 'Ignore';
  readonly nodeTaintsPolicy?: 'Honor' | 'Ignore';
}

/** A container that runs before the main one. A sidecar continues beside it. */
export interface InitCase {
  readonly image: string;
  readonly requests: Resources;
  readonly isSidecar: boolean;
}

/** A preference with its weight. */
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
  /** The size in MiB of each image on the node. */
  readonly images: ReadonlyMap<string, number>;
}

export interface PodCase {
  readonly name: string;
  readonly namespace: string;
  /** It has been told to end, and has not ended. */
  readonly isEnding: boolean;
  /** The node that it runs on or that is promised to it; empty for the pod to place. */
  readonly node: string;
  readonly app: string;
  /** Another label, by which only budgets select. */
  readonly tier: string;
  readonly priority: number | undefined;
  /** In seconds, different for each pod; Infinity for a pod that has not started (at most one). */
  readonly startedAt: number;
  readonly image: string;
  readonly requests: Resources;
  /** They run one after another. */
  readonly init: readonly InitCase[];
  readonly overhead: Resources | undefined;
  readonly hostPort: number | undefined;
  readonly tolerations: readonly Toleration[];
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** The pod accepts a node if all expressions of any one of these hold; absent: every node. */
  readonly nodeTerms: readonly (readonly Expression[])[] | undefined;
  /** The only node that each of its node terms allows, by name. */
  readonly nodeName: string | undefined;
  /** All expressions of a preference must hold. */
  readonly nodeWishes: readonly Wish<readonly Expression[]>[];
  readonly affinity: readonly PodTerm[];
  readonly antiAffinity: readonly PodTerm[];
  readonly nearWishes: readonly Wish<PodTerm>[];
  readonly apartWishes: readonly Wish<PodTerm>[];
  readonly spread: readonly Spread[];
  readonly spreadWishes: readonly Spread[];
  readonly isNeverPreempting: boolean;
  /** The PodGroup that it belongs to; absent: none. */
  readonly group?: string;
}

/** A PodGroup of Kubernetes itself, in the namespace `default`. */
export interface GroupCase {
  readonly name: string;
  /** So many members start together; absent: each may start alone. */
  readonly minCount: number | undefined;
  /** A preemption that takes one member takes all of them. */
  readonly goesTogether: boolean;
  readonly priority: number;
}

export interface BudgetCase {
  readonly name: string;
  readonly namespace: string;
  /** The label of the pods that it covers, so that one pod may have several budgets. */
  readonly selects: Readonly<Record<string, string>>;
  readonly allowed: number;
  /** The disruptions that the budget has already counted. */
  readonly disrupted: readonly string[];
}

export interface ClusterCase {
  readonly pod: PodCase;
  readonly nodes: readonly NodeCase[];
  readonly pods: readonly PodCase[];
  /** Waiting pods to which a node is promised. */
  readonly nominated: readonly PodCase[];
  readonly budgets: readonly BudgetCase[];
}

export const MIB = 2 ** 20;
export const GPU = 'nvidia.com/gpu';
export const HOSTNAME = 'kubernetes.io/hostname';
export const ZONE = 'topology.kubernetes.io/zone';
