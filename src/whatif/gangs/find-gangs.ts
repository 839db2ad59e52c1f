import { type KubeObject, titleOf } from '../../kube/objects/object.ts';
import { type Gang, isOver, podKey } from './gang.ts';
import { type Membership, membershipOf } from './membership.ts';
import { type OwnerChain, Owners } from './owners.ts';

/** The gangs of a cluster, found by pod. */
export interface Gangs {
  readonly all: readonly Gang[];
  /** The gang of a pod, by `namespace/name`. Every pod that is not over has one. */
  readonly of: (pod: string) => Gang | null;
  /** Pods whose owners own each other in a circle. */
  readonly cycles: readonly string[];
  /** Pods of a Job that was not read: whether the Job is a gang is unknown. */
  readonly unknownJobs: readonly string[];
}

const SERVICES = new Set(['ReplicaSet', 'Deployment', 'DaemonSet', 'StatefulSet', 'ReplicationController']);

/** Groups the pods that are not over into gangs; a pod without a gang is one alone. */
export function findGangs(objects: readonly KubeObject[]): Gangs {
  const owners = new Owners(objects.filter(({ kind }) => kind !== 'Event' && kind !== 'Node'));
  const found = new Map<string, Draft>();
  const byPod = new Map<string, string>();
  const [cycles, unknownJobs]: [string[], string[]] = [[], []];
  for (const pod of objects) {
    if (pod.kind !== 'Pod' || isOver(pod)) continue;
    const chain = owners.chainOf(pod);
    const membership = membershipOf(pod, chain.owners, owners);
    if (chain.isCycle) cycles.push(podKey(pod));
    if (membership === null && chain.owners.some(({ kind, object }) => kind === 'Job' && object === null)) unknownJobs.push(podKey(pod));
    const draft = draftOf(pod, membership, chain);
    const known = found.get(draft.key);
    if (known === undefined) found.set(draft.key, draft);
    else known.pods.push(pod);
    byPod.set(podKey(pod), draft.key);
  }
  return {
    all: [...found.values()],
    of: (pod) => found.get(byPod.get(pod) ?? '') ?? null,
    cycles,
    unknownJobs,
  };
}

type Draft = Gang & { readonly pods: KubeObject[] };

function draftOf(pod: KubeObject, membership: Membership | null, { owners: chain, isCycle }: OwnerChain): Draft {
  const namespace = pod.namespace ?? 'default';
  const controller = chain.at(-1)?.kind ?? null;
  if (membership === null) {
    // Of owners in a circle nothing can be trusted: it may train.
    const isService = !isCycle && chain.some(({ kind }) => SERVICES.has(kind)) && !chain.some(({ kind }) => kind === 'Job');
    const object = chain.find(({ kind }) => kind === 'Job')?.object ?? null;
    return {
      key: `Pod/${podKey(pod)}`,
      title: titleOf(pod),
      kind: 'Pod',
      namespace,
      name: pod.name,
      object,
      controller,
      isService,
      pods: [pod],
    };
  }
  const { kind, name, part, object } = membership;
  const title = `${titleOf({ kind, name, namespace })}${part === null ? '' : ` (group ${part})`}`;
  const key = `${kind}/${namespace}/${name}${part === null ? '' : `/${part}`}`;
  return { key, title, kind, namespace, name, object, controller: kind === 'PodGroup' ? controller : kind, isService: false, pods: [pod] };
}
