import type { EndCause } from './catalogue.ts';

/**
 * The cause by the reason of the condition DisruptionTarget. Other programs may set any reason, so
 * this is a Map: it has no inherited names.
 */
const SET_BY: ReadonlyMap<string, EndCause> = new Map([
  ['PreemptionByScheduler', 'SCHEDULER_PREEMPTION'],
  ['PreemptionByKubeScheduler', 'SCHEDULER_PREEMPTION'],
  ['EvictionByEvictionAPI', 'API_EVICTION'],
  ['DeletionByTaintManager', 'NODE_TAINT'],
  ['DeletionByPodGC', 'NODE_DELETED'],
  // Our operator gives up the pods of Jobs on lost nodes.
  ['DeletionByHoldfast', 'NODE_LOST'],
]);

/**
 * The cause that the condition's reason names by itself. Null for other reasons, and for
 * TerminationByKubelet, which stands for three ends.
 */
export function causeOfDisruption(reason: string | null): EndCause | null {
  return SET_BY.get(reason ?? '') ?? null;
}

/** Whether the condition's message says that the node was tainted out-of-service. */
export function isOutOfService(message: string | null): boolean {
  return /out.of.service/i.test(message ?? '');
}
