import type { ApiObject } from '../../kube/api/api-object.ts';
import type { Failure, Outcome } from '../../kube/api/outcome.ts';
import { JOBS, PODS } from '../../kube/api/resources.ts';
import { at, fieldsOf, mapAt } from '../../kube/objects/fields.ts';
import { objectOf } from '../../kube/objects/object.ts';
import { podDefaultsOf } from '../../scheduler/objects/cluster-input.ts';
import { type SchedulerPod, schedulerPodOf } from '../../scheduler/objects/pod.ts';
import { SUSPENDED_FOR } from '../kinds/annotations.ts';
import { isCurrentRun, MOVED } from '../reconcile/current-run.ts';
import { askPods, refuseRoom } from '../reconcile/evict-pods.ts';
import { asksAmong } from '../reconcile/give-room.ts';
import type { OperatorWorld } from '../reconcile/world.ts';
import type { RunRecord } from '../training-run/record.ts';
import { isToBeResumed, isToBeSuspended } from './give-room.ts';
import type { MemberPod } from './member-pod.ts';
import type { ObservedJob } from './observed-job.ts';

interface Subject {
  /** The TrainingRun as it was written last. */
  readonly run: ApiObject;
  readonly record: RunRecord;
  readonly pods: readonly MemberPod[];
  readonly signal: AbortSignal;
}

/** Asks the pods of a Job to save, suspends it, or resumes it, as its record says. */
export async function followRoom(world: OperatorWorld, job: ObservedJob, subject: Subject): Promise<Failure | null> {
  const { record, signal } = subject;
  const { room } = record;
  const living = subject.pods.filter(({ phase }) => phase !== 'Succeeded' && phase !== 'Failed');
  const asked = await askPods(world, job.namespace, asksAmong(living, room), signal);
  if (asked !== null) return asked;
  if (room !== null && isToBeSuspended(job, room)) {
    const refusal = await refusedEviction(world, job, living, signal);
    if (!refusal.ok) return refusal;
    if (refusal.value !== null) return refuseRoom(world, { about: job.object, run: subject.run, signal }, record, refusal.value);
    return patchJob(world, job, subject, { annotations: { [SUSPENDED_FOR]: room.pod }, suspend: true });
  }
  return isToBeResumed(job, room) ? patchJob(world, job, subject, { annotations: { [SUSPENDED_FOR]: null }, suspend: false }) : null;
}

/** A suspension asks no budget, so the operator does: what refuses an eviction refuses it, too. */
async function refusedEviction(
  { api }: OperatorWorld,
  { namespace }: ObservedJob,
  pods: readonly MemberPod[],
  signal: AbortSignal,
): Promise<Outcome<string | null>> {
  for (const { name, uid } of pods) {
    const outcome = await api.evict({ namespace, name }, { uid, isDryRun: true, signal });
    if (outcome.ok || outcome.kind === 'notFound') continue;
    if (outcome.kind === 'tooManyRequests' || outcome.status === 500) return { ok: true, value: outcome.message };
    return outcome;
  }
  return { ok: true, value: null };
}

interface JobChange {
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly suspend: boolean;
}

/** Changes the Job only if it and its TrainingRun are still as they were seen. */
async function patchJob(
  world: OperatorWorld,
  { object, namespace, name }: ObservedJob,
  { run, signal }: Subject,
  { annotations, suspend }: JobChange,
): Promise<Failure | null> {
  if (!(await isCurrentRun(world, run, signal))) return MOVED;
  const change = { metadata: { resourceVersion: object.metadata.resourceVersion, annotations }, spec: { suspend } };
  const patched = await world.api.patch(JOBS, { namespace, name }, change, { signal });
  return patched.ok || patched.kind === 'notFound' ? null : patched;
}

/** The pods that the Job controller would create for a Job that it resumes. */
export function podsOfResumed({ object, namespace, name, gangSize }: ObservedJob): readonly SchedulerPod[] {
  const template = at(object['spec'], 'template');
  const labels = Object.fromEntries(mapAt(template, 'metadata', 'labels'));
  const defaults = podDefaultsOf([], namespace);
  return Array.from({ length: gangSize }, (_, index) => index).flatMap((index) => {
    const metadata = { name: `${name}-${index}`, namespace, labels };
    const pod = objectOf({ apiVersion: 'v1', kind: PODS.kind, metadata, spec: fieldsOf(at(template, 'spec')) });
    return pod === null ? [] : [schedulerPodOf(pod, defaults)];
  });
}
