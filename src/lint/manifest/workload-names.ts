import { get, textAt, type YamlNode } from './yaml-node.ts';
import type { KubeObject, Workload } from './workload.ts';

/** `Job train`, `PyTorchJob x (Worker)`: how messages name a workload. */
export function nameOf({ object, role }: Pick<Workload, 'object' | 'role'>): string {
  const name = object.name === null ? object.kind : `${object.kind} ${object.name}`;
  return role === null ? name : `${name} (${role})`;
}

/** Where namespaces are written, they say whether two objects can mean each other. */
export function sameNamespace(a: KubeObject, b: KubeObject): boolean {
  return a.namespace === null || b.namespace === null || a.namespace === b.namespace;
}

/** The labels that pods get. */
export function labelsOf(metadata: YamlNode | null): ReadonlyMap<string, string> {
  const labels = get(metadata, 'labels');
  return new Map(labels?.kind === 'map' ? [...labels.entries.keys()].map((key) => [key, textAt(labels, key) ?? '']) : []);
}

/** Something that serves: its pods run for ever. */
export function isService({ object }: Pick<Workload, 'object'>): boolean {
  return object.kind === 'Deployment' || object.kind === 'StatefulSet' || object.kind === 'ReplicaSet';
}
