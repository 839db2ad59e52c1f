import { type ApiObject } from '../../kube/api/api-object.ts';
import { at, fieldsOf, listAt } from '../../kube/objects/fields.ts';

/** The object as it is. */
export function untrimmed(object: ApiObject): ApiObject {
  return object;
}

/** The annotations that the operator reads from pods. */
const OWN = 'holdfast.dev/';

/** A pod without the parts that no decision reads, which are most of its bytes. */
export function trimPod(pod: ApiObject): ApiObject {
  const spec = fieldsOf(pod['spec']);
  const containers = listAt(spec, 'containers').map(trimContainer);
  const initContainers = listAt(spec, 'initContainers').map(trimContainer);
  const volumes = listAt(spec, 'volumes').filter((volume) => at(volume, 'persistentVolumeClaim') !== undefined);
  const { annotations = {}, ...metadata } = pod.metadata;
  const own = Object.entries(annotations).filter(([name]) => name.startsWith(OWN));
  const kept = own.length === 0 ? metadata : { ...metadata, annotations: Object.fromEntries(own) };
  return { ...pod, metadata: kept, spec: { ...spec, containers, volumes, ...(initContainers.length === 0 ? {} : { initContainers }) } };
}

function trimContainer(container: unknown): unknown {
  const { env: _env, envFrom: _envFrom, volumeMounts: _mounts, ...kept } = fieldsOf(container);
  return kept;
}

/** A Service without its spec: the operator asks for its name and its owner alone. */
export function trimService({ apiVersion, kind, metadata }: ApiObject): ApiObject {
  return { apiVersion, kind, metadata };
}

/** A node without the list of its images and its volumes. */
export function trimNode(node: ApiObject): ApiObject {
  const { images: _images, volumesInUse: _inUse, volumesAttached: _attached, ...status } = fieldsOf(node['status']);
  return { ...node, status };
}

/** What of a node can change a decision: a kubelet writes its node more often than that. */
export function nodeState(node: ApiObject | null): string {
  const conditions = listAt(node, 'status', 'conditions').map((each) => [at(each, 'type'), at(each, 'status')]);
  return JSON.stringify([node === null, at(node, 'spec', 'taints') ?? null, conditions]);
}
