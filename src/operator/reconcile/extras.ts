import { isDeepStrictEqual } from 'node:util';
import type { ApiObject, NewObject, ObjectKey } from '../../kube/api/api-object.ts';
import type { Failure } from '../../kube/api/outcome.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { textAt } from '../../kube/objects/fields.ts';
import { autoscalerFor } from '../kinds/autoscaler.ts';
import { LOSS_ANNOTATIONS } from '../kinds/annotations.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import { groupName, NATIVE_GROUPS, nativeGroupFor, nativeGroupName } from '../kinds/native-gang.ts';
import { podGroupFor } from '../kinds/pod-group.ts';
import { currentAttempt, type RunRecord } from '../training-run/record.ts';
import type { Plan } from './draft.ts';
import { modeOf } from './observe.ts';
import type { OperatorWorld } from './world.ts';

const AUTOSCALERS: Resource = {
  group: 'autoscaling',
  version: 'v2',
  plural: 'horizontalpodautoscalers',
  kind: 'HorizontalPodAutoscaler',
  isNamespaced: true,
};
const GROUP = { plural: 'podgroups', kind: 'PodGroup', isNamespaced: true };
const VOLCANO_GROUPS: Resource = { group: 'scheduling.volcano.sh', version: 'v1beta1', ...GROUP };
const PLUGIN_GROUPS: Resource = { group: 'scheduling.x-k8s.io', version: 'v1alpha1', ...GROUP };

/** What became of the objects beside the pods. */
export interface Extras {
  readonly failure: Failure | null;
  /** Volcano wants to see the group before there are pods. */
  readonly admitsPods: boolean;
}

/** Brings the autoscaler and the PodGroup of a job to what its plan wants. */
export async function syncExtras(world: OperatorWorld, job: TrainingJob, plan: Plan, signal: AbortSignal): Promise<Extras> {
  const autoscaler = autoscalerFor(job);
  const failure =
    autoscaler === null ? null : (await sync(world, AUTOSCALERS, { object: autoscaler, isWanted: plan.keepsExtras, signal })).failure;
  const native = failure === null ? await syncNativeGang(world, job, plan, signal) : failure;
  if (native !== null) return { failure: native, admitsPods: false };
  const { gangScheduler } = world.settings;
  if (failure !== null || gangScheduler === null) return { failure, admitsPods: failure === null };
  const isEnded = plan.record.endedAt !== null;
  const resource = gangScheduler === 'volcano' ? VOLCANO_GROUPS : PLUGIN_GROUPS;
  const object = podGroupFor(job, gangScheduler);
  const group = await sync(world, resource, { object: withProgress(object, plan.record), isWanted: plan.keepsExtras && !isEnded, signal });
  if (group.change === 'created') world.voice.count('created_pod_groups_total');
  if (group.change === 'deleted') world.voice.count('deleted_pod_groups_total');
  const isWaiting = gangScheduler === 'volcano' && (group.phase === null || group.phase === 'Pending');
  return { failure: group.failure, admitsPods: group.failure === null && !isWaiting };
}

/**
 * Brings the PodGroup of the current attempt to what its plan wants. The one of the attempt before
 * goes with the pods of that attempt, which hold it as long as they live.
 */
async function syncNativeGang(world: OperatorWorld, job: TrainingJob, plan: Plan, signal: AbortSignal): Promise<Failure | null> {
  const { attempt, endedAt } = plan.record;
  if (!world.settings.hasNativeGangs) return null;
  const choice = { mode: modeOf(job), settings: world.settings };
  const isWanted = nativeGroupName(job, choice, attempt) !== null && plan.keepsExtras && endedAt === null;
  const object = withProgress(nativeGroupFor(job, attempt), plan.record);
  const own = await sync(world, NATIVE_GROUPS, { object, isWanted, signal });
  if (own.failure !== null || attempt === 1 || currentAttempt(plan.record).createdAt !== null) return own.failure;
  const key = { namespace: job.namespace, name: groupName(job, attempt - 1) };
  const gone = await world.api.delete(NATIVE_GROUPS, key, { signal });
  return gone.ok || gone.kind === 'notFound' ? null : gone;
}

/**
 * The PodGroup with what a preemption of the gang would lose, for any scheduler or policy that
 * weighs preemptions. An unknown number has no annotation.
 */
function withProgress(group: NewObject, { progress }: RunRecord): NewObject {
  const { sealedAt, unsavedAcceleratorSeconds, saveSeconds } = progress;
  const annotations = {
    ...group.metadata.annotations,
    ...(sealedAt === null ? {} : { [LOSS_ANNOTATIONS.lastSealed]: sealedAt }),
    ...(unsavedAcceleratorSeconds === null ? {} : { [LOSS_ANNOTATIONS.unsaved]: String(unsavedAcceleratorSeconds) }),
    ...(saveSeconds === null ? {} : { [LOSS_ANNOTATIONS.save]: String(saveSeconds) }),
  };
  return Object.keys(annotations).length === 0 ? group : { ...group, metadata: { ...group.metadata, annotations } };
}

interface Wanted {
  readonly object: NewObject;
  readonly isWanted: boolean;
  readonly signal: AbortSignal;
}

interface Synced {
  readonly failure: Failure | null;
  readonly change: 'created' | 'deleted' | 'none';
  readonly phase: string | null;
}

async function sync(world: OperatorWorld, resource: Resource, wanted: Wanted): Promise<Synced> {
  const found = await world.api.get(resource, keyOf(wanted.object), { signal: wanted.signal });
  if (!found.ok) return found.kind === 'notFound' ? create(world, resource, wanted) : { ...UNCHANGED, failure: found };
  const same: Synced = { ...UNCHANGED, phase: textAt(found.value, 'status', 'phase') };
  if (!wanted.isWanted) return remove(world, resource, found.value, wanted.signal);
  const spec = wanted.object['spec'];
  const { annotations = {} } = wanted.object.metadata;
  const isSame = isCovered(spec, found.value['spec']) && isCovered(annotations, found.value.metadata.annotations ?? {});
  if (isSame) return same;
  const patched = await world.api.patch(resource, keyOf(wanted.object), { metadata: { annotations }, spec }, { signal: wanted.signal });
  return { ...same, failure: patched.ok ? null : patched };
}

const UNCHANGED: Synced = { failure: null, change: 'none', phase: null };

function keyOf({ metadata }: NewObject): ObjectKey {
  return { namespace: metadata.namespace ?? null, name: metadata.name ?? '' };
}

async function create({ api }: OperatorWorld, resource: Resource, { object, isWanted, signal }: Wanted): Promise<Synced> {
  if (!isWanted) return UNCHANGED;
  const made = await api.create(resource, object, { signal });
  if (made.ok) return { ...UNCHANGED, change: 'created' };
  return made.kind === 'alreadyExists' ? UNCHANGED : { ...UNCHANGED, failure: made };
}

async function remove({ api }: OperatorWorld, resource: Resource, object: ApiObject, signal: AbortSignal): Promise<Synced> {
  const gone = await api.delete(resource, keyOf(object), { uid: object.metadata.uid, signal });
  if (gone.ok) return { ...UNCHANGED, change: 'deleted' };
  return gone.kind === 'notFound' ? UNCHANGED : { ...UNCHANGED, failure: gone };
}

/** Whether the stored value has all that is wanted; the API server adds defaults of its own. */
function isCovered(wanted: unknown, stored: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(stored) && wanted.length === stored.length && wanted.every((each, index) => isCovered(each, stored[index]));
  }
  if (typeof wanted === 'object' && wanted !== null) {
    if (typeof stored !== 'object' || stored === null) return false;
    const has: Readonly<Record<string, unknown>> = { ...stored };
    return Object.entries(wanted).every(([name, value]) => isCovered(value, has[name]));
  }
  return isDeepStrictEqual(wanted, stored);
}
