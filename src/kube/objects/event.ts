import { at, fieldsOf, numberAt, textAt, timeAt } from './fields.ts';
import type { KubeObject } from './object.ts';

/**
 * An event of a controller or a kubelet about an object. Kubernetes keeps it for an hour by
 * default.
 */
export interface KubeEvent {
  readonly atMs: number | null;
  readonly reason: string;
  readonly message: string;
  readonly isWarning: boolean;
  /** The reporting component: `kubelet`, `default-scheduler`. */
  readonly source: string | null;
  readonly about: { readonly kind: string; readonly name: string; readonly namespace: string | null; readonly uid: string | null };
  readonly count: number;
}

/** Reads an event of either API (`v1` or `events.k8s.io/v1`); null if it names no object. */
export function eventOf({ fields, createdMs, namespace }: KubeObject): KubeEvent | null {
  const about = at(fields, 'involvedObject') ?? at(fields, 'regarding');
  const [kind, name, reason] = [textAt(about, 'kind'), textAt(about, 'name'), textAt(fields, 'reason')];
  if (kind === null || name === null || reason === null) return null;
  return {
    atMs: timeOf(fields) ?? createdMs,
    reason,
    message: textAt(fields, 'message') ?? textAt(fields, 'note') ?? '',
    isWarning: textAt(fields, 'type') === 'Warning',
    source: textAt(fields, 'reportingComponent') ?? textAt(fields, 'reportingController') ?? textAt(fields, 'source', 'component'),
    about: { kind, name, namespace: textAt(about, 'namespace') ?? namespace, uid: textAt(about, 'uid') },
    count: numberAt(fields, 'count') ?? numberAt(fieldsOf(at(fields, 'series')), 'count') ?? 1,
  };
}

/** The time of the first occurrence, which marks the start; repetitions came later. */
function timeOf(fields: unknown): number | null {
  return timeAt(fields, 'eventTime') ?? timeAt(fields, 'firstTimestamp') ?? timeAt(fields, 'lastTimestamp');
}
