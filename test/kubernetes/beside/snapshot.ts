import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { parseQuantity } from '../../../src/kube/objects/quantity.ts';
import { ATTEMPT_LABEL } from '../../../src/operator/kinds/names.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * What a job and its operator have made, without what differs from one write of the API server to
 * the next.
 */
export interface Snapshot {
  readonly pods: Fields;
  readonly services: Fields;
  readonly autoscaler: unknown;
  readonly conditions: readonly Fields[];
  readonly replicaStatuses: unknown;
  readonly times: Fields;
}

/** One operator and the namespace whose jobs it runs. */
export interface Side {
  readonly cluster: Cluster;
  readonly namespace: string;
}

/** Where the job of a kind lies. */
export function jobPath({ namespace }: Side, kind: string, name: string): string {
  return `/apis/kubeflow.org/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;
}

/** The pods of a job, by their name. */
export async function podsOf({ cluster, namespace }: Side, name: string): Promise<readonly KubeObject[]> {
  const pods = await cluster.api.list(`/api/v1/namespaces/${namespace}/pods`);
  return ofJob(pods, name);
}

function ofJob(objects: readonly KubeObject[], name: string): readonly KubeObject[] {
  const own = objects.filter(({ metadata }) => {
    const { ownerReferences = [] } = metadata as { readonly ownerReferences?: readonly { readonly name: string }[] };
    return ownerReferences.some((owner) => owner.name === name);
  });
  return own.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Reads a job and everything that it owns; null: there is no such job. */
export async function snapshot(side: Side, kind: string, name: string): Promise<Snapshot | null> {
  const { cluster, namespace } = side;
  const core = `/api/v1/namespaces/${namespace}`;
  const [job, pods, services, autoscalers] = await Promise.all([
    cluster.api.get(jobPath(side, kind, name)),
    podsOf(side, name),
    cluster.api.list(`${core}/services`),
    cluster.api.list(`/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`),
  ]);
  if (job === null) return null;
  const plain = (object: KubeObject): Fields => normalised(object, namespace);
  const { conditions = [], replicaStatuses = {}, startTime, completionTime } = (job.status ?? {}) as Fields;
  return {
    pods: Object.fromEntries(pods.map((pod) => [pod.metadata.name, withoutOwn(plain(pod))])),
    services: Object.fromEntries(ofJob(services, name).map((service) => [service.metadata.name, withSortedPorts(plain(service))])),
    autoscaler: ofJob(autoscalers, name).map(plain)[0] ?? null,
    conditions: (conditions as readonly Fields[]).map(({ type, status, reason, message }) => ({
      type,
      status,
      reason,
      message: String(message).replaceAll(namespace, 'NAMESPACE'),
    })),
    replicaStatuses: JSON.parse(JSON.stringify(replicaStatuses)) as unknown,
    times: { startTime: startTime !== undefined, completionTime: completionTime !== undefined },
  };
}

const VOLATILE = new Set(['uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp', 'managedFields', 'generation']);

/** The PodGroup of a job, with its quantities as numbers; null: there is none. */
export async function podGroupOf({ cluster, namespace }: Side, groups: string, name: string): Promise<unknown> {
  const found = await cluster.api.get(`/apis/${groups}/namespaces/${namespace}/podgroups/${name}`);
  if (found === null) return null;
  const { metadata, spec } = normalised(found, namespace) as { readonly metadata: Fields; readonly spec: Fields };
  const minResources = Object.entries((spec['minResources'] ?? {}) as Fields).map(([resource, quantity]) => [
    resource,
    parseQuantity(quantity),
  ]);
  return { metadata, spec: { ...spec, minResources: Object.fromEntries(minResources) } };
}

/** Metadata and spec, without what the API server sets anew for each object. */
function normalised({ metadata, spec }: KubeObject, namespace: string): Fields {
  const text = JSON.stringify({ metadata, spec }, (key, value: unknown) => (VOLATILE.has(key) ? undefined : value));
  return JSON.parse(
    text
      .replaceAll(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access')
      .replaceAll(`"${namespace}"`, '"NAMESPACE"')
      .replaceAll(`.${namespace}.svc`, '.NAMESPACE.svc'),
  ) as Fields;
}

/** v1 writes the ports in the order of a Go map, which is random. */
function withSortedPorts(service: Fields): Fields {
  const { spec } = service as { readonly spec: { readonly ports?: readonly { readonly name: string }[] } };
  return { ...service, spec: { ...spec, ports: spec.ports?.toSorted((a, b) => (a.name < b.name ? -1 : 1)) } };
}

/** Without the label that this operator adds to every pod: the number of the attempt. */
function withoutOwn(pod: Fields): Fields {
  const { metadata } = pod as { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } };
  const { [ATTEMPT_LABEL]: _, ...labels } = metadata.labels ?? {};
  return { ...pod, metadata: { ...metadata, labels } };
}
