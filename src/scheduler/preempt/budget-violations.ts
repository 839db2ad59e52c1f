import type { Cluster } from '../cluster/cluster.ts';
import type { Budget } from '../objects/budget.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import { selects } from '../objects/selector.ts';
import { type Unit, podsOf } from './preemption-unit.ts';

/**
 * How many pods of each unit go against a PodDisruptionBudget, if the units left in this order;
 * units that go against none are missing. Preemption prefers to obey budgets, and breaks them.
 */
export function violations(units: readonly Unit[], { budgets, rules }: Cluster): ReadonlyMap<Unit, number> {
  const accounts = budgets
    .filter(({ selector }) => selector !== null && selector.length > 0)
    .map((budget) => ({ budget, left: budget.allowed }));
  const found = new Map<Unit, number>();
  if (accounts.length === 0) return found;
  const violates = (pod: SchedulerPod): boolean => {
    let isViolating = false;
    for (const account of accounts) {
      if (!covers(account.budget, pod)) continue;
      account.left -= 1;
      isViolating ||= account.left < 0;
      if (isViolating && rules.budgetsStopAtFirst) break;
    }
    return isViolating;
  };
  for (const unit of units) {
    const violating = podsOf([unit]).filter(violates).length;
    if (violating > 0) found.set(unit, violating);
  }
  return found;
}

/** Whether a disruption of the pod would count against the budget. */
export function covers({ namespace, selector, disrupted }: Budget, pod: SchedulerPod): boolean {
  return pod.labels.size > 0 && namespace === pod.namespace && !disrupted.has(pod.name) && selects(selector, pod.labels);
}
