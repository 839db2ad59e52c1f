import type { KubeObject } from '../../kube/objects/object.ts';
import { acceleratorsOf, podSpecOf } from '../../kube/objects/pod-spec.ts';
import { at } from '../../kube/objects/fields.ts';

/** What makes pods a gang; `Pod` is a pod that stands alone. */
export type GangKind = 'PyTorchJob' | 'TFJob' | 'JobSet' | 'LeaderWorkerSet' | 'RayJob' | 'Job' | 'PodGroup' | 'Pod';

/** The pods that train together, and stop together when one is lost; or one pod alone. */
export interface Gang {
  /** `PyTorchJob/ml/llama`. */
  readonly key: string;
  /** `pytorchjob/llama in ml`. */
  readonly title: string;
  readonly kind: GangKind;
  readonly namespace: string;
  readonly name: string;
  /** The object that makes it a gang, or the Job of a pod alone; null if it was not read. */
  readonly object: KubeObject | null;
  /** The kind of the controller that makes its pods anew; null: nothing makes them anew. */
  readonly controller: string | null;
  /** A Deployment, a DaemonSet or a StatefulSet runs it: it has no training progress to lose. */
  readonly isService: boolean;
  /** Its pods that are not over. */
  readonly pods: readonly KubeObject[];
}

/** The accelerators that a pod has. */
function podAccelerators(pod: KubeObject): number {
  return acceleratorsOf(podSpecOf(at(pod.fields, 'spec')));
}

/** The accelerators of a gang’s pods that are on nodes. */
export function gangAccelerators({ pods }: Gang): number {
  return pods.reduce((sum, pod) => sum + (nodeOfPod(pod) === null ? 0 : podAccelerators(pod)), 0);
}

/** The node that a pod is bound to, or null. */
function nodeOfPod({ fields }: KubeObject): string | null {
  const node = at(fields, 'spec', 'nodeName');
  return typeof node === 'string' && node !== '' ? node : null;
}

/** Whether a pod ended, so that it takes no room although its object is there. */
export function isOver({ fields }: KubeObject): boolean {
  const phase = at(fields, 'status', 'phase');
  return phase === 'Succeeded' || phase === 'Failed';
}

/** `namespace/name`, the name of a pod inside an answer. */
export function podKey({ namespace, name }: Pick<KubeObject, 'namespace' | 'name'>): string {
  return `${namespace ?? 'default'}/${name}`;
}
