import type { ApiObject, ObjectKey } from '../api/api-object.ts';
import type { Outcome } from '../api/outcome.ts';
import { BUDGETS, PODS } from '../api/resources.ts';
import { at, fieldsOf, numberAt, textAt } from '../objects/fields.ts';
import type { MemoryCluster } from './memory-cluster.ts';
import { refusal, refusedFor } from './refusals.ts';

/** The pod to evict, and whether to ask only. */
export interface Eviction {
  readonly uid: string;
  readonly isDryRun: boolean;
}

/**
 * Evicts a pod by the rules of the API server: one PodDisruptionBudget at most may select it, and
 * that one must allow a disruption, which it then counts. Budgets count running pods alone. Here a
 * budget selects by `matchLabels`.
 */
export function evictPod(cluster: MemoryCluster, key: ObjectKey, { uid, isDryRun }: Eviction): Outcome<null> {
  const pod = cluster.get(PODS, key);
  if (!pod.ok) return pod;
  if (pod.value.metadata.uid !== uid) return refusedFor('conflict', PODS, key, 'is another one: a precondition does not hold');
  const isCounted = textAt(pod.value, 'status', 'phase') === 'Running' && pod.value.metadata.deletionTimestamp === undefined;
  const [budget, ...others] = isCounted ? cluster.all(BUDGETS).filter((each) => selects(each, pod.value)) : [];
  if (others.length > 0)
    return refusal('unavailable', 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.');
  const allowed = budget === undefined ? Infinity : (numberAt(budget, 'status', 'disruptionsAllowed') ?? 0);
  if (allowed <= 0) return refusal('tooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.");
  if (isDryRun) return { ok: true, value: null };
  if (budget !== undefined) {
    const status = { ...fieldsOf(budget['status']), disruptionsAllowed: allowed - 1 };
    cluster.replace(BUDGETS, { ...budget, status }, 'status');
  }
  const conditions = [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' }];
  const marked = cluster.replace(PODS, { ...pod.value, status: { ...fieldsOf(pod.value['status']), conditions } }, 'status');
  return marked.ok ? cluster.delete(PODS, key, {}) : marked;
}

function selects(budget: ApiObject, { metadata }: ApiObject): boolean {
  if (budget.metadata.namespace !== metadata.namespace) return false;
  return Object.entries(fieldsOf(at(budget, 'spec', 'selector', 'matchLabels'))).every(
    ([name, value]) => metadata.labels?.[name] === value,
  );
}
