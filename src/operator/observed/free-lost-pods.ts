import { forceAtMs } from '../../domain/gang/lost-node.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import type { Failure } from '../../kube/api/outcome.ts';
import { PODS } from '../../kube/api/resources.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import { fieldsOf, listAt, textAt } from '../../kube/objects/fields.ts';
import { inParallel } from '../reconcile/in-parallel.ts';
import type { OperatorWorld } from '../reconcile/world.ts';
import type { MemberPod } from './member-pod.ts';
import type { ObservedJob } from './observed-job.ts';

/** When each pod on a lost node may be given up, as far as that is allowed at all. */
function freeAtMs({ choices }: ObservedJob, { nodeLostMs, isFenced, phase }: MemberPod): number | null {
  if (nodeLostMs === null || phase === 'Succeeded' || phase === 'Failed') return null;
  return forceAtMs({ lostMs: nodeLostMs, isFenced, isForceAllowed: choices.forcesLostNodes });
}

/** When the next pod on a lost node may be given up; null: none waits for that. */
export function nextFreeMs(job: ObservedJob, pods: readonly MemberPod[], nowMs: number): number | null {
  const times = pods.map((pod) => freeAtMs(job, pod)).filter((ms) => ms !== null && ms > nowMs);
  return times.length === 0 ? null : Math.min(...times.filter((ms) => ms !== null));
}

/**
 * Gives up the pods of a lost node as the pod garbage collector does: they count as failed by a
 * disruption, so that the Job controller replaces them and a podFailurePolicy sees why.
 */
export async function freeLostPods(
  world: OperatorWorld,
  job: ObservedJob,
  pods: readonly MemberPod[],
  signal: AbortSignal,
): Promise<Failure | null> {
  const nowMs = world.clock.now();
  const due = pods.filter((pod) => (freeAtMs(job, pod) ?? Infinity) <= nowMs);
  const failures = await inParallel(due, (pod) => freeOne(world, job, pod, signal));
  const freed = due.filter((_, index) => failures[index] === null).map(({ name, node }) => `${name} on ${node ?? 'its node'}`);
  if (freed.length > 0) {
    const message = `the node does not report; given up without its kubelet: ${freed.join(', ')}`;
    world.voice.event(job.object, { type: 'Warning', reason: 'NodeLost', message });
  }
  return failures.find((failure) => failure !== null) ?? null;
}

async function freeOne(world: OperatorWorld, { namespace }: ObservedJob, pod: MemberPod, signal: AbortSignal): Promise<Failure | null> {
  const { api, clock } = world;
  const key = { namespace, name: pod.name };
  const stored = await api.get(PODS, key, { signal });
  if (!stored.ok) return unlessGone(stored);
  if (stored.value.metadata.uid !== pod.uid) return null;
  const failed = failedPod(stored.value, pod.node, timestamp(clock.now()));
  const written = await api.replace(PODS, failed, { subresource: 'status', signal });
  if (!written.ok) return unlessGone(written);
  const deleted = await api.delete(PODS, key, { uid: pod.uid, graceSeconds: 0, signal });
  return deleted.ok || deleted.kind === 'conflict' ? null : unlessGone(deleted);
}

function unlessGone(failure: Failure): Failure | null {
  return failure.kind === 'notFound' ? null : failure;
}

/** The pod as the pod garbage collector leaves it: failed, and marked as disrupted. */
function failedPod(pod: ApiObject, node: string | null, now: string): ApiObject {
  const disruption = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByHoldfast',
    message: `the node ${node ?? ''} does not report`,
    lastTransitionTime: now,
  };
  const others = listAt(pod, 'status', 'conditions').filter((each) => textAt(each, 'type') !== disruption.type);
  return { ...pod, status: { ...fieldsOf(pod['status']), phase: 'Failed', conditions: [...others, disruption] } };
}
