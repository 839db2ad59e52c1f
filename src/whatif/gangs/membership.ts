import { at, numberAt, textAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import type { GangKind } from './gang.ts';
import type { OwnerLink, Owners } from './owners.ts';

/** The gang that a pod belongs to. */
export interface Membership {
  readonly kind: GangKind;
  readonly name: string;
  /** Tells gangs of one object apart: a LeaderWorkerSet has one gang for each group. */
  readonly part: string | null;
  readonly object: KubeObject | null;
}

const LWS_NAME = 'leaderworkerset.sigs.k8s.io/name';
const LWS_GROUP = 'leaderworkerset.sigs.k8s.io/group-index';
const JOBSET_NAME = 'jobset.sigs.k8s.io/jobset-name';
const RAY_KIND = 'ray.io/originated-from-crd';
const RAY_NAME = 'ray.io/originated-from-cr-name';
const VOLCANO_GROUP = 'scheduling.k8s.io/group-name';
const PLUGIN_GROUPS = ['scheduling.x-k8s.io/pod-group', 'pod-group.scheduling.sigs.k8s.io'] as const;

/**
 * The gang of a pod, or null if it stands alone. The workload’s own kind comes first: it knows what
 * happens after a loss. A PodGroup counts where no such kind owns the pod.
 */
export function membershipOf(pod: KubeObject, chain: readonly OwnerLink[], owners: Owners): Membership | null {
  return byLabels(pod, owners) ?? byOwner(chain) ?? byPodGroup(pod, owners);
}

/** Labels show the gang even where an owner in between was not read. */
function byLabels({ labels, namespace }: KubeObject, owners: Owners): Membership | null {
  const set = labels.get(LWS_NAME);
  if (set !== undefined) {
    return member('LeaderWorkerSet', set, owners.find('LeaderWorkerSet', namespace, set), labels.get(LWS_GROUP) ?? null);
  }
  const jobSet = labels.get(JOBSET_NAME);
  if (jobSet !== undefined) return member('JobSet', jobSet, owners.find('JobSet', namespace, jobSet));
  const ray = labels.get(RAY_NAME);
  return ray !== undefined && labels.get(RAY_KIND) === 'RayJob' ? member('RayJob', ray, owners.find('RayJob', namespace, ray)) : null;
}

const GANG_OWNERS = new Set<string>(['PyTorchJob', 'TFJob', 'JobSet', 'LeaderWorkerSet', 'RayJob'] satisfies GangKind[]);

function byOwner(chain: readonly OwnerLink[]): Membership | null {
  const owner = chain.find(({ kind }) => GANG_OWNERS.has(kind));
  if (owner !== undefined) return member(owner.kind as GangKind, owner.name, owner.object);
  const job = chain.find(({ kind }) => kind === 'Job');
  return job !== undefined && job.object !== null && isTogether(job.object) ? member('Job', job.name, job.object) : null;
}

/** A Job with one pod at a time is a gang of one. */
function isTogether(job: KubeObject): boolean {
  return (numberAt(job.fields, 'spec', 'parallelism') ?? 1) <= 1 || isGangJob(job);
}

/**
 * Whether the pods of a Job train together: it is indexed, all indexes run at the same time, and no
 * index has a back-off limit of its own.
 */
function isGangJob({ fields }: KubeObject): boolean {
  const spec = at(fields, 'spec');
  const completions = numberAt(spec, 'completions');
  const isAtOnce = completions !== null && completions > 1 && completions === numberAt(spec, 'parallelism');
  return isAtOnce && at(spec, 'completionMode') === 'Indexed' && numberAt(spec, 'backoffLimitPerIndex') === null;
}

function byPodGroup(pod: KubeObject, owners: Owners): Membership | null {
  const { fields, labels, annotations, namespace } = pod;
  const own = textAt(fields, 'spec', 'schedulingGroup', 'podGroupName');
  const group = own === null ? null : owners.find('PodGroup', namespace, own);
  // A group with the policy `basic` starts its pods one by one.
  if (own !== null && (group === null || numberAt(group.fields, 'spec', 'schedulingPolicy', 'gang', 'minCount') !== null)) {
    return member('PodGroup', own, group);
  }
  const workload = textAt(fields, 'spec', 'workloadRef', 'name');
  if (workload !== null) {
    const part = [textAt(fields, 'spec', 'workloadRef', 'podGroup'), textAt(fields, 'spec', 'workloadRef', 'podGroupReplicaKey')];
    return member('PodGroup', workload, null, part.filter((each) => each !== null).join('/'));
  }
  const named = annotations.get(VOLCANO_GROUP) ?? PLUGIN_GROUPS.map((label) => labels.get(label)).find((name) => name !== undefined);
  return named === undefined ? null : member('PodGroup', named, owners.find('PodGroup', namespace, named));
}

function member(kind: GangKind, name: string, object: KubeObject | null, part: string | null = null): Membership {
  return { kind, name, object, part };
}
