import { type ApiObject } from '../../kube/api/api-object.ts';
import { at, type Fields, fieldsOf, listAt } from '../../kube/objects/fields.ts';

/** The object as it is. */
export function untrimmed(object: ApiObject): ApiObject {
  return object;
}

/** The annotations that the operator reads from pods. */
const OWN = 'holdfast.dev/';

/** What decisions read of a container, and of its state. */
const OF_CONTAINER: ReadonlySet<string> = new Set(['name', 'image', 'command', 'args', 'resources', 'ports', 'lifecycle', 'restartPolicy']);
const OF_STATE: ReadonlySet<string> = new Set(['name', 'ready', 'restartCount', 'state', 'lastState']);
/** What they do not read of the spec and the status of a pod. */
const NOT_OF_SPEC: ReadonlySet<string> = new Set([
  'dnsConfig',
  'dnsPolicy',
  'enableServiceLinks',
  'hostAliases',
  'imagePullSecrets',
  'securityContext',
  'serviceAccount',
  'serviceAccountName',
]);
const NOT_OF_STATUS: ReadonlySet<string> = new Set(['hostIP', 'hostIPs', 'podIPs', 'qosClass']);
/** As many different parts are remembered. */
const MOST_PARTS = 4096;

/**
 * Trims pods to the parts that decisions read, which are a small part of their bytes. The pods of a
 * gang are mostly alike: what is equal in them is kept once.
 */
export function podTrimmer(): (pod: ApiObject) => ApiObject {
  const parts = new Map<string, unknown>();
  const once = <Part>(part: Part): Part => {
    if (typeof part !== 'object') return part;
    const text = JSON.stringify(part);
    const known = parts.get(text);
    if (known !== undefined) return known as Part;
    if (parts.size >= MOST_PARTS) parts.clear();
    parts.set(text, part);
    return part;
  };
  const onceEach = (fields: Fields, isKept: (name: string) => boolean): Fields =>
    Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (isKept(name) ? [[name, once(value)]] : [])));
  const container = (value: unknown): unknown => once(onceEach(fieldsOf(value), (name) => OF_CONTAINER.has(name)));
  const state = (value: unknown): unknown => onceEach(fieldsOf(value), (name) => OF_STATE.has(name));
  const condition = (value: unknown): unknown => once(onceEach(fieldsOf(value), (name) => name !== 'lastProbeTime'));
  const listed = (fields: Fields, name: string, trim: (value: unknown) => unknown): Fields =>
    fields[name] === undefined ? {} : { [name]: listAt(fields, name).map(trim) };
  return (pod) => {
    const [spec, status] = [fieldsOf(pod['spec']), fieldsOf(pod['status'])];
    const { annotations = {}, ownerReferences, ...metadata } = pod.metadata;
    const own = Object.entries(annotations).filter(([name]) => name.startsWith(OWN));
    const volumes = listAt(spec, 'volumes').filter((volume) => at(volume, 'persistentVolumeClaim') !== undefined);
    return {
      ...pod,
      metadata: {
        ...metadata,
        ...(own.length === 0 ? {} : { annotations: Object.fromEntries(own) }),
        ...(ownerReferences === undefined ? {} : { ownerReferences: once(ownerReferences) }),
      },
      spec: {
        ...onceEach(spec, (name) => !NOT_OF_SPEC.has(name) && !name.endsWith('ontainers') && name !== 'volumes'),
        ...listed(spec, 'containers', container),
        ...listed(spec, 'initContainers', container),
        volumes: once(volumes),
      },
      status: {
        ...onceEach(status, (name) => !NOT_OF_STATUS.has(name) && !name.endsWith('Statuses') && name !== 'conditions'),
        ...listed(status, 'conditions', condition),
        ...listed(status, 'containerStatuses', state),
        ...listed(status, 'initContainerStatuses', state),
      },
    };
  };
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
