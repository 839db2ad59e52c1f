import type { ReplicaPolicy } from '../../domain/gang/end-action.ts';
import type { CleanPodPolicy } from '../../domain/gang/clean-pods.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { Fields } from '../../kube/objects/fields.ts';
import type { Choices } from './choices.ts';

/** An environment variable with a plain value. */
export interface EnvVar {
  readonly name: string;
  readonly value: string;
}

/** The pods of one role, with the defaults of v1 filled in. */
export interface Replica {
  /** As the table spells it: `Master`, `Worker`, `PS`. */
  readonly role: string;
  readonly count: number;
  readonly policy: ReplicaPolicy;
  /** The pod template, as the user wrote it. */
  readonly template: Fields;
  /** The port of the training container. */
  readonly port: number;
}

/** The elastic policy of a PyTorchJob; null: not given. */
export interface ElasticPolicy {
  readonly min: number;
  readonly max: number;
  readonly backend: string;
  readonly host: string | null;
  readonly port: number | null;
  readonly id: string | null;
  readonly conf: readonly { readonly key: string; readonly value: string }[] | null;
  readonly isStandalone: boolean;
  /** Deprecated by v1; it is passed on. */
  readonly processesPerNode: number | null;
  readonly maxRestarts: number | null;
  /** The metrics of a HorizontalPodAutoscaler, as the user wrote them. */
  readonly metrics: readonly unknown[] | null;
}

/** The run policy, with the defaults of v1 filled in. Null: not given. */
export interface RunPolicy {
  readonly cleanPods: CleanPodPolicy;
  readonly ttlSeconds: number | null;
  readonly activeDeadlineSeconds: number | null;
  readonly backoffLimit: number | null;
  readonly isSuspended: boolean;
  readonly managedBy: string | null;
  readonly scheduling: Fields;
}

/** A PyTorchJob or a TFJob, read with the defaults of v1. */
export interface TrainingJob {
  readonly kind: JobKind;
  readonly object: ApiObject;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly choices: Choices;
  /** In the order of the table of kinds; roles that it does not know come last. */
  readonly replicas: readonly Replica[];
  readonly run: RunPolicy;
  readonly elastic: ElasticPolicy | null;
  /** Of a PyTorchJob: `auto`, `cpu`, `gpu` or a number; null: the elastic policy has its own. */
  readonly processesPerNode: string | null;
  /** Of a TFJob: `AllWorkers`, or any other text for v1's default rule. */
  readonly successPolicy: string;
  /** Of a TFJob. */
  readonly hasDynamicWorkers: boolean;
}

/** A pod of a job, by its place. */
export interface Place {
  readonly replica: Replica;
  readonly index: number;
}

/** What the operator's own settings add to the pods. */
export interface PodSettings {
  readonly initImage: string;
  readonly initTries: number;
  /** `cluster.local`, for clusters whose search path lacks it; null: names end with `.svc`. */
  readonly clusterDomain: string | null;
  /** `volcano`, or the name of a scheduler with scheduler-plugins; null: no gang scheduler. */
  readonly gangScheduler: string | null;
  /** The cluster serves PodGroups of Kubernetes itself. */
  readonly hasNativeGangs: boolean;
  readonly supervision: SupervisionSettings;
}

/** Which pods run under the supervisor. */
export interface SupervisionSettings {
  /** The operator's own image, which holds the supervisor; null: it is not known. */
  readonly image: string | null;
  /** Those of every job, and not only of jobs with the annotation. */
  readonly isForAll: boolean;
}

/** Which pods decide that a job has succeeded. */
export interface SuccessRule {
  readonly role: string;
  /** `first-or-all`: all of them, or index 0 alone. */
  readonly needs: 'all' | 'any' | 'first-or-all';
}

/** The texts that differ between the kinds. */
export interface KindMessages {
  readonly running: (job: TrainingJob) => string;
  readonly succeeded: (job: TrainingJob) => string;
  readonly failed: (job: TrainingJob, role: string, count: number) => string;
}

/** A row of the table of kinds. Everything that differs between the kinds of jobs stands here. */
export interface JobKind {
  readonly resource: Resource;
  /** The field of the spec that holds the roles. */
  readonly rolesField: string;
  /** In the order of ranks. */
  readonly roles: readonly string[];
  /** Roles of which the first one there is leads the job; without any, worker 0 leads. */
  readonly leaders: readonly string[];
  /** Roles beside the gang: when one is lost, it alone is replaced. */
  readonly asideRoles: readonly string[];
  /** Roles of parameter servers. */
  readonly serverRoles: readonly string[];
  readonly container: string;
  readonly portName: string;
  readonly port: number;
  readonly defaultPolicy: ReplicaPolicy;
  /** The value of v1's label for the operator, and the source of its events. */
  readonly operatorName: string;
  /** The label of v1's metrics. */
  readonly framework: string;
  /** The status names a selector for each role, for the scale subresource. */
  readonly hasSelector: boolean;
  /** The reason of the events when a job's time to live is over. */
  readonly deletedReason: string;
  /** Roles that exclude each other at admission. */
  readonly exclusiveRoles: readonly string[];
  /** Admission refuses roles that the table does not know, and counts that do not fit. */
  readonly checksRoles: boolean;
  /** The environment of a container of the pod, in v1's order. */
  readonly environment: (job: TrainingJob, place: Place, settings: PodSettings) => readonly EnvVar[];
  /** The containers that get it. */
  readonly environmentFor: 'all' | 'first-training';
  readonly initContainers: (job: TrainingJob, place: Place, settings: PodSettings) => readonly Fields[];
  readonly successRule: (job: TrainingJob) => SuccessRule | null;
  readonly messages: KindMessages;
}
