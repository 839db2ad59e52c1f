import type { EndCause } from '../../domain/causes/catalogue.ts';
import { causeOfDisruption, isOutOfService } from '../../domain/causes/disruption.ts';
import { causeInWords } from '../../domain/causes/kubelet-words.ts';
import { trueCondition } from '../../kube/objects/condition.ts';
import type { KubeNode } from '../../kube/objects/node.ts';
import type { WhyFacts } from '../facts/facts.ts';
import { type Lead, type Rule, certain, likely } from '../facts/lead.ts';

const SILENT_TAINTS: ReadonlySet<string> = new Set([
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/out-of-service',
]);

/** The condition that Kubernetes sets on a pod before it disrupts it. */
export const disruption: Rule = (facts) => {
  const condition = facts.pod === null ? null : trueCondition(facts.pod.conditions, 'DisruptionTarget');
  if (condition === null) return [];
  const reason = condition.reason ?? '';
  const shown = `the pod has the condition DisruptionTarget/${reason}`;
  if (reason === 'TerminationByKubelet') return byKubelet(facts, shown, condition.message);
  const cause = causeOfDisruption(reason);
  if (cause === null) return [];
  if (cause === 'NODE_TAINT') return [byTaint(facts, shown)];
  if (isOutOfService(condition.message)) return [certain('NODE_LOST', `${shown}: its node was tainted out-of-service`)];
  return [certain(cause, shown)];
};

/** Whether the node does not report to the control plane, or did not for a while. */
export function isSilent(node: KubeNode | null): boolean {
  if (node === null) return false;
  return (
    node.taints.some(({ key, effect }) => SILENT_TAINTS.has(key) && effect === 'NoExecute') ||
    node.conditions.some(({ type, status }) => type === 'Ready' && status !== 'True')
  );
}

/** A taint, or the loss of the node, which leaves a taint as well. */
export function byTaint(facts: WhyFacts, shown: string): Lead {
  const { node, nodeEvents } = facts;
  if (isSilent(node)) return certain('NODE_LOST', `${shown}, and its node does not report`);
  const set = node?.taints.find(({ key, effect }) => effect === 'NoExecute' && !SILENT_TAINTS.has(key));
  if (set !== undefined) return certain('NODE_TAINT', `${shown}, and its node has the taint ${set.key}`);
  if (nodeEvents.some(({ reason }) => reason === 'NodeNotReady')) {
    return certain('NODE_LOST', `${shown}, and the event NodeNotReady shows that its node did not report`);
  }
  return byReadiness(facts, shown);
}

/**
 * A node that stops reporting gets a taint as well. Once it is back, only the time since which it
 * is ready shows that.
 */
function byReadiness({ node, pod, isNodeMissing }: WhyFacts, shown: string): Lead {
  const readyMs = node?.conditions.find(({ type }) => type === 'Ready')?.sinceMs ?? null;
  const startMs = pod?.startMs ?? null;
  if (readyMs === null || startMs === null) {
    return likely('NODE_TAINT', `${shown}; ${isNodeMissing ? 'its node is gone' : 'the taint is no longer visible'}`);
  }
  if (readyMs <= startMs) return certain('NODE_TAINT', `${shown}, and its node was always ready`);
  return likely('NODE_LOST', `${shown}, and its node became ready again after the pod had started`);
}

/**
 * One reason stands for three ends. The message, the pod’s reason and the events tell them apart.
 */
function byKubelet(facts: WhyFacts, shown: string, message: string | null): readonly Lead[] {
  const { pod, events, nodeEvents } = facts;
  const told = causeInWords(message) ?? causeInWords(pod?.message ?? null) ?? toldByEvents(facts);
  if (told !== null) return [certain(told, `${shown}, with the kubelet’s message for it`)];
  const has = (reason: string): boolean => pod?.reason === reason || events.some((event) => event.reason === reason);
  if (has('Terminated')) return [certain('MACHINE_SHUTDOWN', `${shown}, and the reason Terminated`)];
  if (has('Preempting')) return [certain('CRITICAL_POD', `${shown}, and the reason Preempting`)];
  if (has('Evicted')) return [byPressure(facts, shown)];
  if (nodeEvents.some((event) => event.reason === 'Shutdown')) {
    return [likely('MACHINE_SHUTDOWN', `${shown}, and its node has the event Shutdown`)];
  }
  return [];
}

function byPressure({ node, nodeEvents }: WhyFacts, shown: string): Lead {
  const now = node?.conditions.find(({ type, status }) => type.endsWith('Pressure') && status === 'True');
  const pressure = now?.type ?? pressureIn(nodeEvents);
  if (pressure === null) return certain('NODE_PRESSURE', `${shown}, and it was evicted; the scarce resource is no longer visible`);
  return certain(PRESSURES[pressure] ?? 'NODE_PRESSURE', `${shown}, it was evicted, and its node shows ${pressure}`);
}

const PRESSURES: Readonly<Record<string, EndCause>> = {
  MemoryPressure: 'MEMORY_PRESSURE',
  DiskPressure: 'DISK_PRESSURE',
  PIDPressure: 'PID_PRESSURE',
};

/** The pressure that the kubelet reported for its node. */
function pressureIn(nodeEvents: WhyFacts['nodeEvents']): string | null {
  const found = nodeEvents.flatMap(
    ({ reason }) => /^NodeHas(?:Insufficient)?(\w+)Pressure$|^NodeHasInsufficient(Memory|PID)$/.exec(reason) ?? [],
  );
  if (found.length === 0) return null;
  const text = found.join(' ');
  if (text.includes('Disk')) return 'DiskPressure';
  return text.includes('Memory') ? 'MemoryPressure' : 'PIDPressure';
}

function toldByEvents({ events }: WhyFacts): EndCause | null {
  for (const { reason, message } of events) {
    const cause = reason === 'Evicted' || reason === 'Preempting' ? causeInWords(message) : null;
    if (cause !== null) return cause;
  }
  return null;
}
