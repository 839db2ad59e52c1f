import type { KubeObject } from '../../kube/objects/object.ts';
import { isOver } from '../gangs/gang.ts';
import { Owners } from '../gangs/owners.ts';

/** The living pods of each owner, by the owner’s kind, namespace and name. */
export function countRunning(objects: readonly KubeObject[]): ReadonlyMap<string, number> {
  const owners = new Owners(objects);
  const counts = new Map<string, number>();
  for (const pod of objects) {
    if (pod.kind !== 'Pod' || isOver(pod)) continue;
    const places = [{ kind: 'Pod', name: pod.name }, ...owners.chainOf(pod).owners];
    for (const { kind, name } of places) {
      const key = `${kind}/${pod.namespace ?? 'default'}/${name}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const deployment = deploymentOf(pod);
    if (deployment !== null) counts.set(deployment, (counts.get(deployment) ?? 0) + 1);
  }
  return counts;
}

/**
 * A Deployment owns its pods through a ReplicaSet, whose name adds the hash that the pods carry.
 */
function deploymentOf({ labels, owners, namespace }: KubeObject): string | null {
  const hash = labels.get('pod-template-hash');
  const set = owners.find(({ kind }) => kind === 'ReplicaSet');
  if (hash === undefined || set === undefined || !set.name.endsWith(`-${hash}`)) return null;
  return `Deployment/${namespace ?? 'default'}/${set.name.slice(0, -hash.length - 1)}`;
}
