import { type Condition, conditionsOf } from './condition.ts';
import { at, listAt, mapAt, numberAt, textAt, timeAt } from './fields.ts';
import type { KubeObject } from './object.ts';
import { type PodSpec, podSpecOf } from './pod-spec.ts';

/** How a container ended. */
export interface Terminated {
  readonly exitCode: number;
  readonly reason: string | null;
  readonly message: string | null;
  readonly startedMs: number | null;
  readonly finishedMs: number | null;
}

/** The status of a container from the kubelet. */
export interface ContainerState {
  readonly name: string;
  readonly restarts: number;
  readonly terminated: Terminated | null;
  /** The end before its current state. */
  readonly lastTerminated: Terminated | null;
  readonly waiting: { readonly reason: string; readonly message: string | null } | null;
  readonly runningSinceMs: number | null;
}

/** A pod as the API server shows it. */
export interface Pod {
  readonly object: KubeObject;
  readonly spec: PodSpec;
  readonly phase: string | null;
  readonly reason: string | null;
  readonly message: string | null;
  readonly startMs: number | null;
  readonly conditions: readonly Condition[];
  readonly nominatedNode: string | null;
  /** The containers of the pod, without its init containers. */
  readonly containers: readonly ContainerState[];
  readonly initContainers: readonly ContainerState[];
  readonly labels: ReadonlyMap<string, string>;
}

/** Reads a pod; missing fields are null or empty. */
export function podOf(object: KubeObject): Pod {
  const { fields } = object;
  const status = at(fields, 'status');
  return {
    object,
    spec: podSpecOf(at(fields, 'spec')),
    phase: textAt(status, 'phase'),
    reason: textAt(status, 'reason'),
    message: textAt(status, 'message'),
    startMs: timeAt(status, 'startTime'),
    conditions: conditionsOf(fields),
    nominatedNode: textAt(status, 'nominatedNodeName'),
    containers: listAt(status, 'containerStatuses').flatMap(containerOf),
    initContainers: listAt(status, 'initContainerStatuses').flatMap(containerOf),
    labels: mapAt(fields, 'metadata', 'labels'),
  };
}

function containerOf(value: unknown): readonly ContainerState[] {
  const name = textAt(value, 'name');
  if (name === null) return [];
  const waiting = textAt(value, 'state', 'waiting', 'reason');
  return [
    {
      name,
      restarts: numberAt(value, 'restartCount') ?? 0,
      terminated: terminatedOf(at(value, 'state', 'terminated')),
      lastTerminated: terminatedOf(at(value, 'lastState', 'terminated')),
      waiting: waiting === null ? null : { reason: waiting, message: textAt(value, 'state', 'waiting', 'message') },
      runningSinceMs: timeAt(value, 'state', 'running', 'startedAt'),
    },
  ];
}

function terminatedOf(value: unknown): Terminated | null {
  const exitCode = numberAt(value, 'exitCode');
  if (exitCode === null) return null;
  return {
    exitCode,
    reason: textAt(value, 'reason'),
    message: textAt(value, 'message'),
    startedMs: timeAt(value, 'startedAt'),
    finishedMs: timeAt(value, 'finishedAt'),
  };
}
