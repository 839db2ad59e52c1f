import type { RestartMode } from '../../domain/gang/restart-mode.ts';
import type { NewObject } from '../../kube/api/api-object.ts';
import type { Cloud } from '../kinds/clouds.ts';
import type { PodSettings, TrainingJob } from '../kinds/kind.ts';
import type { EventNote } from '../../kube/control/event-recorder.ts';
import { type ConditionType, type JobStatus, setCondition } from '../status/job-status.ts';
import type { RunRecord } from '../training-run/record.ts';
import type { ObservedPod } from './observed-pod.ts';

/** What rank 0 reports now. Null: unknown. */
export interface Progress {
  readonly step: number | null;
  readonly lastGoodStep: number | null;
  readonly lastGoodAgeMs: number | null;
  readonly accelerators: number | null;
  /** The last loss that the trainer reported. */
  readonly loss: number | null;
  /** The name of the trial of a sweep, which holds its parameters; null: it is none. */
  readonly trial: string | null;
  readonly unsavedAcceleratorSeconds: number | null;
  /** The P95 of a save. */
  readonly saveSeconds: number | null;
  readonly readMs: number;
}

/** Where a node stands, for the record of an attempt. */
export interface NodePlace {
  readonly pool: string | null;
  readonly zone: string | null;
  readonly machineType: string | null;
}

/** Everything that a decision depends on, beside the record and the status. */
export interface Facts {
  readonly nowMs: number;
  readonly job: TrainingJob;
  readonly mode: RestartMode;
  readonly pods: readonly ObservedPod[];
  /** The names of the Services of the job. */
  readonly services: readonly string[];
  readonly settings: PodSettings;
  /** The last lines of the log of a pod that failed; null: there is none, or it cannot be read. */
  readonly logs: ReadonlyMap<string, string | null>;
  /** The newest report of rank 0 in the current attempt; null: none came. */
  readonly progress: Progress | null;
  /** When the kubelets of these nodes were last heard of, where a failure would end the run. */
  readonly heardMs: ReadonlyMap<string, number>;
  readonly placeOf: (node: string) => NodePlace;
  /** Null: unknown, or of no interest to the job. */
  readonly cloud: Cloud | null;
  /** Of the claims of pods on lost nodes, those whose volume can be on one node only. */
  readonly singleNodeClaims: ReadonlySet<string>;
  /** Why pods could not be created in the pass before; null: they could, or were not to be. */
  readonly trouble: string | null;
  /** Null: the run makes no room. */
  readonly room: RoomFacts | null;
}

/** What the making of room depends on. */
export interface RoomFacts {
  /** The pod still waits for the room that this gang makes. */
  readonly isAwaited: boolean;
  /** All pods of the gang find a node now. */
  readonly fits: boolean;
}

/** A counter of v1 to raise. */
export type JobCounter = 'created' | 'deleted' | 'successful' | 'failed' | 'restarted';

/** The decisions so far: what the record and the status become, and what is told. */
export interface Draft {
  readonly record: RunRecord;
  readonly status: JobStatus;
  readonly events: readonly EventNote[];
  readonly counters: readonly JobCounter[];
}

/** A pod to delete. */
export interface PodDeletion {
  readonly name: string;
  readonly uid: string;
  /** Removes the object without its kubelet, because the node is lost. */
  readonly isForced: boolean;
}

/** A pod whose supervisor is asked to save, or no more. */
export interface PodAsk {
  readonly name: string;
  readonly isAsked: boolean;
}

/** Everything that a reconcile does. */
export interface Plan extends Draft {
  readonly deletePods: readonly PodDeletion[];
  /** These go by the Eviction API, which asks the budgets for disruptions. */
  readonly evictPods: readonly PodDeletion[];
  /** The pods that get or lose the notice that asks for a save. */
  readonly asks: readonly PodAsk[];
  readonly createPods: readonly NewObject[];
  readonly createServices: readonly NewObject[];
  readonly deleteServices: readonly string[];
  /** Another controller acts on the job: nothing of it is touched. */
  readonly isLeftAlone: boolean;
  /** Whether the HorizontalPodAutoscaler and the PodGroup of the job may exist. */
  readonly keepsExtras: boolean;
  readonly deletesJob: boolean;
  /** When to look again although nothing changes; null: never. */
  readonly againAtMs: number | null;
}

/** Adds an event. */
export function tell(draft: Draft, type: EventNote['type'], reason: string, message: string): Draft {
  return { ...draft, events: [...draft.events, { type, reason, message }] };
}

/** Changes a condition of the job; v1's reason is the kind and a word. */
export function condition(facts: Pick<Facts, 'job' | 'nowMs'>, draft: Draft, change: ConditionWord): Draft {
  const { type, isTrue = true, word = type, message } = change;
  const reason = `${facts.job.kind.resource.kind}${word}`;
  return { ...draft, status: setCondition(draft.status, { type, isTrue, reason, message }, facts.nowMs) };
}

/** A change of a condition, whose reason ends with `word`, or else with its type. */
export interface ConditionWord {
  readonly type: ConditionType;
  readonly isTrue?: boolean;
  readonly word?: string;
  readonly message: string;
}

/** The record with another phase. */
export function phase(draft: Draft, name: RunRecord['phase'], message: string): Draft {
  const { record } = draft;
  return record.phase === name && record.message === message ? draft : { ...draft, record: { ...record, phase: name, message } };
}
