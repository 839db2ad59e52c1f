import type { RestartMode } from '../../domain/gang/restart-mode.ts';
import type { NewObject } from '../../kube/api/api-object.ts';
import { apiVersionOf, type Resource } from '../../kube/api/resource.ts';
import { at, numberAt, textAt } from '../../kube/objects/fields.ts';
import type { PodSettings, Replica, TrainingJob } from './kind.ts';
import { ownerOf } from './pod.ts';

/** Kubernetes' own PodGroups, which 1.37 serves where its administrator turned them on. */
export const NATIVE_GROUPS: Resource = {
  group: 'scheduling.k8s.io',
  version: 'v1beta1',
  plural: 'podgroups',
  kind: 'PodGroup',
  isNamespaced: true,
};

/** What decides whether the pods of a job are scheduled as a gang by Kubernetes itself. */
export interface GangChoice {
  readonly mode: RestartMode;
  readonly settings: Pick<PodSettings, 'gangScheduler' | 'hasNativeGangs'>;
}

/** What the scheduler demands to be equal in all members of a group. */
const EQUAL_FIELDS = ['schedulerName', 'priorityClassName', 'priority', 'preemptionPolicy'] as const;

/**
 * The name of the PodGroup of an attempt; null: it has none. A user may opt out or bring a group,
 * and members that differ in their priority or scheduler would wait for ever.
 */
export function nativeGroupName(job: TrainingJob, { mode, settings }: GangChoice, attempt: number): string | null {
  if (!settings.hasNativeGangs || settings.gangScheduler !== null || !job.choices.usesNativeGang) return null;
  if (mode !== 'gang' && job.elastic === null) return null;
  const members = membersOf(job);
  const isFree = members.every(({ template }) => at(template, 'spec', 'schedulingGroup') === undefined);
  const kinds = new Set(members.map(({ template }) => JSON.stringify(EQUAL_FIELDS.map((name) => at(template, 'spec', name) ?? null))));
  return isFree && kinds.size === 1 ? groupName(job, attempt) : null;
}

/** The name of the PodGroup that an attempt has, or would have. */
export function groupName({ name }: Pick<TrainingJob, 'name'>, attempt: number): string {
  return `${name}-attempt-${attempt}`;
}

/** The PodGroup of an attempt: no half gang is bound, and all of it or none is preempted. */
export function nativeGroupFor(job: TrainingJob, attempt: number): NewObject {
  const [first] = membersOf(job);
  const priorityClassName = textAt(first?.template, 'spec', 'priorityClassName');
  return {
    apiVersion: apiVersionOf(NATIVE_GROUPS),
    kind: NATIVE_GROUPS.kind,
    metadata: { name: groupName(job, attempt), namespace: job.namespace, ownerReferences: [ownerOf(job)] },
    spec: {
      schedulingPolicy: { gang: { minCount: minCountOf(job) } },
      disruptionMode: { all: {} },
      ...(priorityClassName === null ? {} : { priorityClassName }),
    },
  };
}

/** The replicas that train together; the others are scheduled one by one. */
function membersOf({ kind, replicas }: TrainingJob): readonly Replica[] {
  return replicas.filter(({ role, count }) => count > 0 && !kind.asideRoles.includes(role));
}

function minCountOf(job: TrainingJob): number {
  const { elastic } = job;
  const least = ({ role, count }: Replica): number => (elastic !== null && role === 'Worker' ? Math.min(count, elastic.min) : count);
  return numberAt(job.run.scheduling, 'minAvailable') ?? membersOf(job).reduce((sum, replica) => sum + least(replica), 0);
}
