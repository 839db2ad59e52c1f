import type { ApiObject, Metadata } from '../api/api-object.ts';
import { timestamp } from '../api/timestamp.ts';
import { numberAt, textAt } from '../objects/fields.ts';

/** A request to delete an object. */
export interface Deletion {
  readonly graceSeconds?: number;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
}

/** The finalizers by which the garbage collector is asked for another propagation. */
export const FOREGROUND = 'foregroundDeletion';
/** Asks for the objects that this one owns to stay. */
export const ORPHAN = 'orphan';
const DEFAULT_GRACE_SECONDS = 30;

/** The object after a request to delete it: marked, or marked with a shorter grace. */
export function afterDeletion(
  stored: ApiObject,
  deletion: Deletion,
  { isGraceful, nowMs }: { readonly isGraceful: boolean; readonly nowMs: number },
): ApiObject {
  const { metadata } = stored;
  const seconds = isGraceful ? graceOf(stored, deletion) : 0;
  const isShorter = metadata.deletionGracePeriodSeconds === undefined || seconds < metadata.deletionGracePeriodSeconds;
  const finalizers = withPropagation(metadata, deletion);
  if (!isShorter) return { ...stored, metadata: { ...metadata, finalizers } };
  // The time of the request plus the grace; a shorter grace counts from the first request.
  const requestedMs =
    metadata.deletionTimestamp === undefined
      ? nowMs
      : Date.parse(metadata.deletionTimestamp) - (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  const deletionTimestamp = timestamp(requestedMs + seconds * 1000);
  const generation = (metadata.generation ?? 0) + 1;
  return { ...stored, metadata: { ...metadata, finalizers, generation, deletionTimestamp, deletionGracePeriodSeconds: seconds } };
}

/** Whether nothing keeps the object any longer. */
export function isOver({ metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0 && (metadata.finalizers ?? []).length === 0;
}

/** A pod that no kubelet has, or that has ended, needs no grace. */
function graceOf(pod: ApiObject, { graceSeconds }: Deletion): number {
  const phase = textAt(pod, 'status', 'phase');
  if (textAt(pod, 'spec', 'nodeName') === null || phase === 'Succeeded' || phase === 'Failed') return 0;
  return graceSeconds ?? numberAt(pod, 'spec', 'terminationGracePeriodSeconds') ?? DEFAULT_GRACE_SECONDS;
}

function withPropagation({ finalizers = [] }: Metadata, { propagation }: Deletion): readonly string[] {
  const wanted = propagation === 'Foreground' ? FOREGROUND : propagation === 'Orphan' ? ORPHAN : null;
  return wanted === null || finalizers.includes(wanted) ? finalizers : [...finalizers, wanted];
}
