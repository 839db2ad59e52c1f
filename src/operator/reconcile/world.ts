import type { Clock } from '../../core/clock.ts';
import type { DeclaredLoss } from '../../domain/gang/lost-node.ts';
import { type ApiObject, controllerReference } from '../../kube/api/api-object.ts';
import type { KubeApi } from '../../kube/api/kube-api.ts';
import type { EventNote } from '../../kube/control/event-recorder.ts';
import type { IndexOf, StoreReader } from '../../kube/watch/store.ts';
import { ROOM_ANNOTATIONS } from '../kinds/annotations.ts';
import type { Cloud } from '../kinds/clouds.ts';
import type { JobKind, PodSettings } from '../kinds/kind.ts';
import { subjectOf } from '../training-run/training-run.ts';
import type { JobCounter, Progress } from './draft.ts';

/** Lists pods and Services under the uid of the job that controls them. */
export const OWNER_INDEX = 'owner';
/** Lists TrainingRuns under the uid of their job. */
export const SUBJECT_INDEX = 'subject';

/** The index that {@link OWNER_INDEX} names. */
export const byOwner: IndexOf = (object) => {
  const owner = controllerReference(object);
  return owner === null ? [] : [owner.uid];
};

/** The index that {@link SUBJECT_INDEX} names. */
export const bySubject: IndexOf = (object) => {
  const subject = subjectOf(object);
  return subject === null ? [] : [subject.uid];
};

/** Lists the pods that ask for room, under {@link ASKS_FOR_ROOM}. */
export const ROOM_INDEX = 'room';
/** The only value of {@link ROOM_INDEX}. */
export const ASKS_FOR_ROOM = 'asks';

/** The index that {@link ROOM_INDEX} names. */
export const byRoom: IndexOf = ({ metadata }) => (metadata.annotations?.[ROOM_ANNOTATIONS.asks] === 'true' ? [ASKS_FOR_ROOM] : []);

/** What the watches of the operator last saw. */
export interface OperatorStores {
  readonly jobs: ReadonlyMap<JobKind, StoreReader>;
  /** The Jobs of Kubernetes that have the label for a TrainingRun. */
  readonly observed: StoreReader;
  /** Indexed by {@link SUBJECT_INDEX}. */
  readonly runs: StoreReader;
  /** Indexed by {@link OWNER_INDEX} and {@link ROOM_INDEX}. */
  readonly pods: StoreReader;
  /** Indexed by {@link OWNER_INDEX}. */
  readonly services: StoreReader;
  readonly nodes: StoreReader;
}

/** What the operator says to people and to monitoring. */
export interface OperatorVoice {
  event(about: ApiObject, event: EventNote): void;
  /** Raises a counter of v1: `training_operator_jobs_<counter>_total`. */
  countJob(counter: JobCounter, kind: JobKind, namespace: string): void;
  /** Raises another counter of v1 by its name. */
  count(name: PodCounter, by?: number): void;
}

/** The counters of v1 that have no labels. */
export type PodCounter =
  | 'created_pods_total'
  | 'deleted_pods_total'
  | 'failed_pods_total'
  | 'created_pod_groups_total'
  | 'deleted_pod_groups_total'
  | 'succeeded_service_creation_total'
  | 'failed_service_creation_total';

/** How room is made, and what the operator has just done about it. */
export interface RoomMaking {
  /** How long a gang may take to save, where the pod does not say. */
  readonly deadlineMs: number;
  /** The operator sees all namespaces; without that, it cannot tell what fits where. */
  readonly seesAll: boolean;
  /** The node of each plan that the watch may not show yet, by the uid of its pod. */
  readonly plans: Map<string, string>;
  /** What an event last said to each pod that asks, by its uid: nothing is said twice in a row. */
  readonly said: Map<string, string>;
}

/** A pod on a node that does not report. */
export interface Stranded {
  /**
   * When that was noticed, in milliseconds since 1970. By the operator's own clock: those of nodes
   * and of the API server may differ.
   */
  readonly lostMs: number;
  readonly loss: DeclaredLoss;
}

/** Everything that a reconcile works with. */
export interface OperatorWorld {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly stores: OperatorStores;
  readonly voice: OperatorVoice;
  readonly settings: PodSettings;
  /** How long a TrainingRun outlives its job. */
  readonly keepRunsMs: number;
  /**
   * Why the pods of a job could not be created in the last pass, by the uid of the job. It is
   * learned anew after a restart of the operator.
   */
  readonly troubles: Map<string, string>;
  /**
   * The nodes that do not report, by their name, and the pods that are stranded there, by their
   * uid.
   */
  readonly lostNodes: Map<string, ReadonlyMap<string, Stranded>>;
  /** The conditions of nodes that end an attempt. */
  readonly faultConditions: readonly string[];
  /** Null: by the nodes. */
  readonly cloud: Cloud | null;
  readonly room: RoomMaking;
  /**
   * The newest report of rank 0, by the uid of the job; null: none came in this attempt. An index
   * that is a run of its own has a key of its own.
   */
  readonly progressOf: (id: string, attempt: number) => Progress | null;
}
