import type { Avoided } from '../../domain/gang/avoidance.ts';
import { type Fields, fieldsOf, listAt } from '../../kube/objects/fields.ts';

const ZONE_LABEL = 'topology.kubernetes.io/zone';
/** The most that Kubernetes allows, so that it counts for more than a free node does. */
const NODE_WEIGHT = 100;
const ZONE_WEIGHT = 50;

/**
 * The spec of a pod that rather goes elsewhere. It only prefers to: where there is no other room,
 * it trains on what there is.
 */
export function withAvoided(spec: Fields, { nodes, zones }: Avoided): Fields {
  if (nodes.length === 0 && zones.length === 0) return spec;
  const affinity = fieldsOf(spec['affinity']);
  const nodeAffinity = fieldsOf(affinity['nodeAffinity']);
  const preferredDuringSchedulingIgnoredDuringExecution = [
    ...listAt(nodeAffinity, 'preferredDuringSchedulingIgnoredDuringExecution'),
    // A field takes one value, so each node is a preference of its own.
    ...nodes.map((node) => preference(NODE_WEIGHT, { matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: [node] }] })),
    ...zones.map((zone) => preference(ZONE_WEIGHT, { matchExpressions: [{ key: ZONE_LABEL, operator: 'NotIn', values: [zone] }] })),
  ];
  return { ...spec, affinity: { ...affinity, nodeAffinity: { ...nodeAffinity, preferredDuringSchedulingIgnoredDuringExecution } } };
}

function preference(weight: number, term: Fields): Fields {
  return { weight, preference: term };
}
