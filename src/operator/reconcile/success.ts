import { timestamp } from '../../kube/api/timestamp.ts';
import { closeAttempt, endWithout } from './end-attempt.ts';
import { condition, type Draft, type Facts, phase, tell } from './draft.ts';
import { currentPods, placeKey } from './places.ts';

/** Whether the pods that decide have finished. */
export function hasSucceeded(facts: Facts, { record }: Draft): boolean {
  const { job } = facts;
  const rule = job.kind.successRule(job);
  const replica = job.replicas.find(({ role }) => role === rule?.role);
  if (rule === null || replica === undefined) return false;
  const pods = currentPods(job, record, facts.pods);
  const isDone = (index: number): boolean => pods.get(placeKey({ role: rule.role, index }))?.end.class === 'finished';
  const indexes = Array.from({ length: replica.count }, (_, index) => index);
  if (rule.needs === 'any') return indexes.some(isDone);
  return indexes.every(isDone) || (rule.needs === 'first-or-all' && isDone(0));
}

/** Marks the job as succeeded. Pods that still run count as succeeded, as in v1. */
export function succeed(facts: Facts, draft: Draft): Draft {
  const { job, nowMs } = facts;
  const message = job.kind.messages.succeeded(job);
  const told = tell(draft, 'Normal', `${job.kind.resource.kind}Succeeded`, message);
  const status = { ...told.status, completionTime: told.status.completionTime ?? timestamp(nowMs) };
  const marked = condition(facts, { ...told, status, counters: [...told.counters, 'successful'] }, { type: 'Succeeded', message });
  const record = closeAttempt(facts, marked.record, { ...endWithout(facts, marked.record, 'FINISHED'), lostSteps: 0, lostSeconds: 0 });
  return phase({ ...marked, record: { ...record, endedAt: timestamp(nowMs), replacing: [] } }, 'Succeeded', message);
}
