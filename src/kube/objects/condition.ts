import { listAt, numberAt, textAt, timeAt } from './fields.ts';

/** A condition of a pod, a Job or a node. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly sinceMs: number | null;
  /** The generation of the object that the condition’s author had seen; null before 1.33. */
  readonly generation: number | null;
}

/** The conditions in the status of an object. */
export function conditionsOf(object: unknown): readonly Condition[] {
  return listAt(object, 'status', 'conditions').flatMap((entry) => {
    const [type, status] = [textAt(entry, 'type'), textAt(entry, 'status')];
    if (type === null || status === null) return [];
    const sinceMs = timeAt(entry, 'lastTransitionTime');
    const generation = numberAt(entry, 'observedGeneration');
    return [{ type, status, reason: textAt(entry, 'reason'), message: textAt(entry, 'message'), sinceMs, generation }];
  });
}

/** The true condition of a type, or null. */
export function trueCondition(conditions: readonly Condition[], type: string): Condition | null {
  return conditions.find((condition) => condition.type === type && condition.status === 'True') ?? null;
}
