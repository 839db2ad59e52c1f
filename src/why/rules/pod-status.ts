import { type Rule, certain, likely } from '../facts/lead.ts';
import { causeInWords, isRejection } from '../../domain/causes/kubelet-words.ts';
import { byTaint } from './disruption.ts';

/** The reason and the message of the pod, which remain when the condition is gone. */
export const podStatus: Rule = ({ pod }) => {
  if (pod === null || pod.reason === null) return [];
  const { reason, message } = pod;
  const shown = `the pod has the reason ${reason}`;
  if (reason === 'Terminated') return [certain('MACHINE_SHUTDOWN', `${shown}, which only a node shutdown sets`)];
  if (reason === 'Preempting') return [certain('CRITICAL_POD', `${shown}, which a kubelet sets only to make room for a critical pod`)];
  if (reason === 'NodeLost') return [certain('NODE_LOST', shown)];
  if (reason === 'DeadlineExceeded') return [certain('JOB_DEADLINE', `${shown}: it exceeded its own activeDeadlineSeconds`)];
  if (isRejection(reason)) return [certain('POD_REJECTED', shown)];
  if (reason !== 'Evicted') return [];
  const told = causeInWords(message);
  if (told !== null) return [certain(told, `${shown}, with the message “${short(message)}”`)];
  const hasRun = pod.containers.length > 0;
  return hasRun ? [] : [likely('POD_REJECTED', `${shown}, and none of its containers ever started`)];
};

/** The events about the pod, while the API server keeps them. */
export const podEvents: Rule = (facts) => {
  const { events, pod } = facts;
  const found = events.flatMap(({ reason, message }) => {
    if (reason === 'Evicted' || reason === 'Preempting') {
      const cause = causeInWords(message) ?? (reason === 'Preempting' ? 'CRITICAL_POD' : null);
      return cause === null ? [] : [certain(cause, `the event ${reason}: “${short(message)}”`)];
    }
    if (reason === 'Preempted') return [likely('SCHEDULER_PREEMPTION', `the event Preempted: “${short(message)}”`)];
    // A cancelled eviction leaves the same event with another message.
    if (reason === 'TaintManagerEviction' && !/cancel/i.test(message) && pod?.object.deletionMs !== null) {
      const { cause, evidence } = byTaint(facts, `the pod has the event TaintManagerEviction: “${short(message)}”`);
      return [likely(cause, evidence)];
    }
    if (/failed (?:liveness|startup) probe/.test(message) && reason === 'Killing') {
      return [certain('PROBE_FAILED', `the event Killing: “${short(message)}”`)];
    }
    return [];
  });
  return found;
};

/** The start of a message, for one line. */
export function short(message: string | null): string {
  const text = (message ?? '').trim();
  return text.length <= 90 ? text : `${text.slice(0, 89)}…`;
}
