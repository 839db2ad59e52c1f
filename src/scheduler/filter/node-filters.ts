import { hasLabels, meetsNodeTerm } from '../objects/affinity.ts';
import type { SchedulerNode } from '../objects/node.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import { tolerates, toleratesAll } from '../objects/toleration.ts';
import type { MakeFilter } from './filter.ts';
import { refusal } from './verdict.ts';

const CORDON = { key: 'node.kubernetes.io/unschedulable', value: '', effect: 'NoSchedule' } as const;
const CORDONED = refusal('unresolvable', 'NodeUnschedulable', 'node(s) were unschedulable');
const TAINTED = refusal('unresolvable', 'TaintToleration', 'node(s) had untolerated taint(s)');
const UNWANTED = refusal('unresolvable', 'NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
const OTHER_NAME = refusal('unresolvable', 'NodeAffinity', "node(s) didn't satisfy plugin(s) [NodeAffinity]");
const PORT_TAKEN = refusal('unschedulable', 'NodePorts', "node(s) didn't have free ports for the requested pod ports");

/** A cordoned node takes only pods that tolerate the taint of a cordon. */
export const isNotCordoned: MakeFilter = ({ pod }) => {
  if (tolerates(pod.tolerations, CORDON)) return null;
  return { check: ({ node }) => (node.isCordoned ? CORDONED : null) };
};

/** The pod tolerates every taint of the node that keeps pods away. */
export const taintsAreTolerated: MakeFilter = ({ pod }) => ({
  check: ({ node }) => (toleratesAll(pod.tolerations, node.taints) ? null : TAINTED),
});

/** A pod that wants nodes by name is not shown the others at all, before any other filter. */
export const isNamed: MakeFilter = ({ pod }) => {
  const names = namesWanted(pod);
  return names === null ? null : { check: ({ node }) => (names.has(node.name) ? null : OTHER_NAME) };
};

/** The node matches the node selector and the required node affinity of the pod. */
export const isWanted: MakeFilter = ({ pod }) => {
  if (pod.nodeSelector.size === 0 && pod.affinity.nodeTerms === null) return null;
  return { check: ({ node }) => (wants(pod, node) ? null : UNWANTED) };
};

/** No pod on the node has one of the host ports that this pod asks for. */
export const portsAreFree: MakeFilter = ({ pod: { hostPorts } }) => {
  if (hostPorts.length === 0) return null;
  return { check: (node) => (hostPorts.some((port) => node.isTaken(port)) ? PORT_TAKEN : null) };
};

/** Whether the pod’s own wishes, all of them required, allow the node. */
export function wants({ nodeSelector, affinity: { nodeTerms } }: SchedulerPod, node: SchedulerNode): boolean {
  return hasLabels(nodeSelector, node.labels) && (nodeTerms === null || nodeTerms.some((term) => meetsNodeTerm(term, node)));
}

/** The only nodes that can be meant when every term names some; null when any node can be. */
function namesWanted({ affinity: { nodeTerms } }: SchedulerPod): ReadonlySet<string> | null {
  if (nodeTerms === null || nodeTerms.length === 0) return null;
  const names = new Set<string>();
  for (const { fields } of nodeTerms) {
    const named = fields.filter(({ key, operator }) => key === 'metadata.name' && operator === 'In');
    if (named.length === 0) return null;
    const [first, ...others] = named;
    for (const name of first?.values ?? []) if (others.every(({ values }) => values.includes(name))) names.add(name);
  }
  return names;
}
