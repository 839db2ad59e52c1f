import type { ApiObject } from '../../kube/api/api-object.ts';
import { parseDuration } from '../../core/duration.ts';
import { at, textAt, textsAt, timeAt } from '../../kube/objects/fields.ts';
import { conditionsOf } from '../../kube/objects/condition.ts';
import { ROOM_ANNOTATIONS } from './annotations.ts';

/** What the operator decided for a pod that asks for room, in an annotation of the pod. */
export interface RoomPlan {
  readonly node: string;
  /** The keys of the TrainingRuns of the gangs that leave. */
  readonly runs: readonly string[];
  /** The only pods that leave of a gang, by the key of its TrainingRun; absent: the whole gang. */
  readonly parts: Readonly<Record<string, readonly string[]>>;
  readonly askedAt: string;
  readonly deadlineAt: string;
}

const MOST_RUNS = 8;

/** Reads the plan of a pod; null: it has none that can be followed. */
export function planOf({ metadata }: ApiObject): RoomPlan | null {
  const text = metadata.annotations?.[ROOM_ANNOTATIONS.plan];
  if (text === undefined) return null;
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch {
    return null;
  }
  const [node, askedAt, deadlineAt] = [textAt(value, 'node'), textAt(value, 'askedAt'), textAt(value, 'deadlineAt')];
  const isTimed = timeAt(value, 'askedAt') !== null && timeAt(value, 'deadlineAt') !== null;
  const runs = textsAt(value, 'runs').filter((run) => run.includes('/'));
  if (node === null || askedAt === null || deadlineAt === null || !isTimed || runs.length === 0 || runs.length > MOST_RUNS) return null;
  const parts = runs.flatMap((run) => (at(value, 'parts', run) === undefined ? [] : [[run, textsAt(value, 'parts', run)] as const]));
  return { node, runs, parts: Object.fromEntries(parts), askedAt, deadlineAt };
}

/** How long the gangs may save for this pod. */
export function deadlineMsOf({ metadata }: ApiObject, byDefaultMs: number): number {
  const text = metadata.annotations?.[ROOM_ANNOTATIONS.deadline];
  const parsed = text === undefined ? null : parseDuration(text);
  return parsed?.ok === true ? parsed.value : byDefaultMs;
}

/** Whether a pod waits for a node, and the scheduler has found none. */
export function isUnschedulable(pod: ApiObject): boolean {
  const { deletionTimestamp } = pod.metadata;
  if (deletionTimestamp !== undefined || textAt(pod, 'spec', 'nodeName') !== null) return false;
  return conditionsOf(pod).some(({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable');
}
