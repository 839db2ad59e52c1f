/** What becomes of the pods of a finished job. */
export type CleanPodPolicy = 'None' | 'Running' | 'All';

/**
 * Whether a pod of a finished job is deleted. A pending pod counts as a running one: it would start
 * later. v1 reads any unknown policy as `All`.
 */
export function isCleanedUp(policy: CleanPodPolicy, phase: string | null): boolean {
  if (policy === 'None') return false;
  return policy === 'All' || phase === 'Running' || phase === 'Pending';
}
