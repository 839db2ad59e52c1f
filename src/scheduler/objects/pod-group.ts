import { at, numberAt, textAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import type { PodDefaults } from './pod.ts';

/** What the scheduler reads of a PodGroup of Kubernetes itself (`scheduling.k8s.io`). */
export interface PodGroup {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  /** So many members start together; null when each may start alone. */
  readonly minCount: number | null;
  /** A preemption that takes one member takes all of them. */
  readonly goesTogether: boolean;
  readonly priority: number;
  /** The composite group above it, which this engine does not model. */
  readonly parent: string | null;
}

/** Reads a PodGroup object of `scheduling.k8s.io`; null if it is another group’s PodGroup. */
export function podGroupOf({ apiVersion, namespace, name, fields }: KubeObject, { priorityOfClass }: PodDefaults): PodGroup | null {
  if (!apiVersion.startsWith('scheduling.k8s.io/')) return null;
  const spec = at(fields, 'spec');
  const place = namespace ?? 'default';
  return {
    key: `${place}/${name}`,
    namespace: place,
    name,
    minCount: numberAt(spec, 'schedulingPolicy', 'gang', 'minCount'),
    goesTogether: at(spec, 'disruptionMode', 'all') !== undefined,
    priority: numberAt(spec, 'priority') ?? priorityOfClass(textAt(spec, 'priorityClassName')).value,
    parent: textAt(spec, 'parentCompositePodGroupName'),
  };
}
