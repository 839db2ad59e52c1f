import { at, isFields, mapAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import type { SchedulerPod } from './pod.ts';
import { type Requirement, type Selector, plainSelectorOf, selectorOf, selects } from './selector.ts';

/**
 * A Service or a controller, by whose selector the scheduler spreads pods that ask for no spread.
 */
export interface Workload {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly selector: Selector;
}

const CONTROLLERS = new Set(['ReplicationController', 'ReplicaSet', 'StatefulSet']);

/** Reads a Service, ReplicationController, ReplicaSet or StatefulSet; null for other kinds. */
export function workloadOf({ kind, namespace, name, fields }: KubeObject): Workload | null {
  if (kind !== 'Service' && !CONTROLLERS.has(kind)) return null;
  const given = at(fields, 'spec', 'selector');
  const isPlain = kind === 'Service' || kind === 'ReplicationController';
  const plain = isFields(given) ? plainSelectorOf(mapAt(given)) : null;
  return { kind, namespace: namespace ?? 'default', name, selector: isPlain ? plain : selectorOf(given) };
}

/** The selector of the pods that belong together with this one; null if it belongs to nothing. */
export function siblingsOf(pod: SchedulerPod, workloads: readonly Workload[]): Selector {
  const found: Requirement[] = [];
  for (const { kind, namespace, name, selector } of workloads) {
    if (selector === null || namespace !== pod.namespace) continue;
    const isOwner =
      CONTROLLERS.has(kind) && pod.controller?.isController === true && pod.controller.kind === kind && pod.controller.name === name;
    if (isOwner || (kind === 'Service' && selects(selector, pod.labels))) found.push(...selector);
  }
  return found.length === 0 ? null : found;
}
