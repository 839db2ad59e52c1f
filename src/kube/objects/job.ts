import { type Condition, conditionsOf } from './condition.ts';
import { at, listAt, numberAt, textAt, timeAt } from './fields.ts';
import type { KubeObject } from './object.ts';

/** A Job as the API server shows it. */
export interface Job {
  readonly object: KubeObject;
  readonly conditions: readonly Condition[];
  readonly isSuspended: boolean;
  readonly hasFailurePolicy: boolean;
  /** The first matching rule of its policy ignores disruptions. */
  readonly ignoresDisruptions: boolean;
  readonly backoffLimit: number;
  readonly activeDeadlineSeconds: number | null;
  readonly startMs: number | null;
  readonly completionMs: number | null;
  readonly succeeded: number;
  readonly failed: number;
  readonly active: number;
}

const DEFAULT_BACKOFF_LIMIT = 6;

/** Reads a Job; missing fields are null or zero. */
export function jobOf(object: KubeObject): Job {
  const { fields } = object;
  const status = at(fields, 'status');
  const rules = listAt(fields, 'spec', 'podFailurePolicy', 'rules');
  return {
    object,
    conditions: conditionsOf(fields),
    isSuspended: at(fields, 'spec', 'suspend') === true,
    hasFailurePolicy: rules.length > 0,
    ignoresDisruptions: rules.some(
      (rule) =>
        textAt(rule, 'action') === 'Ignore' &&
        listAt(rule, 'onPodConditions').some((entry) => textAt(entry, 'type') === 'DisruptionTarget'),
    ),
    backoffLimit: numberAt(fields, 'spec', 'backoffLimit') ?? DEFAULT_BACKOFF_LIMIT,
    activeDeadlineSeconds: numberAt(fields, 'spec', 'activeDeadlineSeconds'),
    startMs: timeAt(status, 'startTime'),
    completionMs: timeAt(status, 'completionTime'),
    succeeded: numberAt(status, 'succeeded') ?? 0,
    failed: numberAt(status, 'failed') ?? 0,
    active: numberAt(status, 'active') ?? 0,
  };
}
