/**
 * Whether kubelets restarted containers in place too often, by v1's rule: their sum over all
 * running pods reaches the limit; with a limit of 0, any restart. Pods of a gang never restart in
 * place.
 */
export function isPastRestarts(restarts: number, backoffLimit: number | null): boolean {
  if (backoffLimit === null) return false;
  return backoffLimit === 0 ? restarts > 0 : restarts >= backoffLimit;
}
