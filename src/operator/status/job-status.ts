import { timestamp } from '../../kube/api/timestamp.ts';
import { type Fields, fieldsOf, listAt, numberAt, textAt, timeAt } from '../../kube/objects/fields.ts';

/** The types of conditions of v1. */
export type ConditionType = 'Created' | 'Running' | 'Restarting' | 'Succeeded' | 'Suspended' | 'Failed';

/** A condition of a job. Times are RFC 3339 texts. */
export interface JobCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastUpdateTime: string;
  readonly lastTransitionTime: string;
}

/** The pods of a role by their state. A count of 0 is left out, as v1 does. */
export interface ReplicaStatus {
  readonly active?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  readonly selector?: string;
}

/** The status of a job, in v1's shape. */
export interface JobStatus {
  /** kubectl shows the type of the last one as the state of the job. */
  readonly conditions: readonly JobCondition[];
  readonly replicaStatuses: Readonly<Record<string, ReplicaStatus>>;
  readonly startTime?: string;
  readonly completionTime?: string;
  /** v1 writes it for a gang scheduler; it is kept as it is. */
  readonly lastReconcileTime?: string;
}

/** A change of a condition. */
export interface ConditionChange {
  readonly type: ConditionType;
  readonly isTrue: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Reads the status of a job; what is missing is empty. */
export function jobStatusOf(object: Fields): JobStatus {
  const status = fieldsOf(object['status']);
  const times = ['startTime', 'completionTime', 'lastReconcileTime'].flatMap((name) => {
    const text = textAt(status, name);
    return text === null ? [] : [[name, text] as const];
  });
  return {
    conditions: listAt(status, 'conditions').map(conditionOf),
    replicaStatuses: Object.fromEntries(
      Object.entries(fieldsOf(status['replicaStatuses'])).map(([role, each]) => [role, replicaStatusOf(each)]),
    ),
    ...Object.fromEntries(times),
  };
}

function conditionOf(value: unknown): JobCondition {
  const text = (name: string): string => textAt(value, name) ?? '';
  const { type, status } = { type: text('type'), status: text('status') };
  const times = { lastUpdateTime: text('lastUpdateTime'), lastTransitionTime: text('lastTransitionTime') };
  return { type, status, reason: text('reason'), message: text('message'), ...times };
}

function replicaStatusOf(value: unknown): ReplicaStatus {
  const counts = (['active', 'succeeded', 'failed'] as const).flatMap((name) => {
    const count = numberAt(value, name);
    return count === null || count === 0 ? [] : [[name, count] as const];
  });
  const selector = textAt(value, 'selector');
  return { ...Object.fromEntries(counts), ...(selector === null ? {} : { selector }) };
}

/** The start of the job, in milliseconds since 1970; null: it has not started. */
export function startMsOf(status: JobStatus): number | null {
  return timeAt(status, 'startTime');
}

/** The completion of the job, in milliseconds since 1970; null: it is not complete. */
export function completionMsOf(status: JobStatus): number | null {
  return timeAt(status, 'completionTime');
}

/** Whether a condition of this type is true. */
export function isTrue({ conditions }: Pick<JobStatus, 'conditions'>, type: ConditionType): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
}

/** Whether the job has succeeded or failed. */
export function isFinished(status: Pick<JobStatus, 'conditions'>): boolean {
  return isTrue(status, 'Succeeded') || isTrue(status, 'Failed');
}

/**
 * Changes a condition by v1's rules. A failed job changes no more. The same type, status and reason
 * change nothing. Else the condition moves to the end of the list. Running and Restarting replace
 * each other, and the end of a job makes Running false.
 */
export function setCondition(status: JobStatus, change: ConditionChange, nowMs: number): JobStatus {
  if (isTrue(status, 'Failed')) return status;
  const { type, reason, message } = change;
  const value = change.isTrue ? 'True' : 'False';
  const before = status.conditions.find((condition) => condition.type === type);
  if (before !== undefined && before.status === value && before.reason === reason) return status;
  const now = timestamp(nowMs);
  const lastTransitionTime = before !== undefined && before.status === value ? before.lastTransitionTime : now;
  const others = status.conditions.filter((condition) => condition.type !== type && !isReplaced(condition.type, type));
  const isEnd = type === 'Failed' || type === 'Succeeded';
  const kept = others.map((condition) => (isEnd && condition.type === 'Running' ? { ...condition, status: 'False' } : condition));
  return { ...status, conditions: [...kept, { type, status: value, reason, message, lastUpdateTime: now, lastTransitionTime }] };
}

function isReplaced(old: string, by: ConditionType): boolean {
  return (by === 'Restarting' && old === 'Running') || (by === 'Running' && old === 'Restarting');
}
