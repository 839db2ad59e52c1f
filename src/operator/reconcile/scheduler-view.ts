import { objectOf } from '../../kube/objects/object.ts';
import { textAt } from '../../kube/objects/fields.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { Cluster } from '../../scheduler/cluster/cluster.ts';
import { clusterInputOf } from '../../scheduler/objects/cluster-input.ts';
import { minorOf } from '../../scheduler/objects/release.ts';
import type { OperatorStores } from './world.ts';

/** The oldest release whose rules the engine knows: where nodes do not say which they run. */
const OLDEST_MINOR = 35;

/**
 * The cluster as the scheduler sees it, from what the watches last saw, and from other objects such
 * as budgets and namespaces.
 */
export function schedulerView({ nodes, pods }: Pick<OperatorStores, 'nodes' | 'pods'>, beside: readonly ApiObject[]): Cluster {
  const objects = [...nodes.all(), ...pods.all(), ...beside].flatMap((object) => objectOf(object) ?? []);
  return new Cluster(clusterInputOf(objects, { minor: minorOfNodes([...nodes.all()]), hasGroups: false }));
}

/** The release of the newest kubelet, which is never newer than the scheduler. */
function minorOfNodes(nodes: readonly ApiObject[]): number {
  const minors = nodes.flatMap((node) => minorOf(textAt(node, 'status', 'nodeInfo', 'kubeletVersion') ?? '') ?? []);
  return Math.max(OLDEST_MINOR, ...minors);
}
