import { forceAtMs } from '../../domain/gang/lost-node.ts';
import { ANNOTATIONS } from '../kinds/annotations.ts';
import { type Draft, type Facts, phase, type PodDeletion, tell } from './draft.ts';
import type { ObservedPod } from './observed-pod.ts';

/**
 * How a pod is deleted that is to go: with its own grace, or without its kubelet where its node has
 * been lost for long enough. Empty: it goes already, or only its finalizers hold it.
 */
export function deletionOf(facts: Facts, pod: ObservedPod): readonly PodDeletion[] {
  const { name, uid, isTerminating } = pod;
  const atMs = forceMs(facts, pod);
  const isForced = atMs !== null && atMs <= facts.nowMs;
  if (isTerminating && (pod.isForced || !isForced)) return [];
  return [{ name, uid, isForced }];
}

/**
 * When the next pod on a lost node can be deleted without its kubelet; null: none waits for that.
 */
export function nextForceMs(facts: Facts): number | null {
  const times = facts.pods.map((pod) => forceMs(facts, pod)).filter((ms) => ms !== null && ms > facts.nowMs);
  return times.length === 0 ? null : Math.min(...times.filter((ms) => ms !== null));
}

function forceMs({ job }: Facts, { nodeLostMs, isFenced }: ObservedPod): number | null {
  if (nodeLostMs === null) return null;
  return forceAtMs({ lostMs: nodeLostMs, isFenced, isForceAllowed: job.choices.forcesLostNodes });
}

/**
 * Tells of the pods that this pass deletes without their kubelet, and what their volumes wait for.
 */
export function tellForced(facts: Facts, draft: Draft, deletions: readonly PodDeletion[]): Draft {
  const forced = new Set(deletions.filter(({ isForced }) => isForced).map(({ name }) => name));
  if (forced.size === 0) return draft;
  const pods = facts.pods.filter(({ name }) => forced.has(name));
  const nodes = unique(pods.flatMap(({ node }) => node ?? []));
  const told = tell(draft, 'Warning', 'NodeLost', `${listed(nodes)} does not report; deleted without its kubelet: ${listed([...forced])}`);
  const claims = unique(pods.flatMap((pod) => pod.claims)).filter((claim) => facts.singleNodeClaims.has(claim));
  if (claims.length === 0) return told;
  const message =
    `the volume of ${listed(claims)} can be on one node only, and Kubernetes frees it six minutes after the loss; ` +
    `once the machine is off for certain, this frees it at once: ` +
    `kubectl taint nodes ${nodes.join(' ')} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`;
  return tell(told, 'Warning', 'VolumeHeld', message);
}

/**
 * Says which pod the next attempt waits for, and what a person can do about it. `said` is what the
 * record said before this pass: an event tells of each reason once.
 */
export function noteHeld(facts: Facts, draft: Draft, said: string): Draft {
  const [first] = facts.pods.flatMap((pod) => whyHeld(facts, pod) ?? []);
  if (first === undefined) return draft;
  const told = first === said ? draft : tell(draft, 'Warning', 'PodHeld', first);
  return phase(told, draft.record.phase, first);
}

function whyHeld(facts: Facts, pod: ObservedPod): string | null {
  const { name, node, isTerminating, finalizers } = pod;
  if (!isTerminating) return null;
  if (pod.isForced && finalizers.length > 0) {
    return `${name} cannot go while it has the ${finalizers.length === 1 ? 'finalizer' : 'finalizers'} ${listed(finalizers)}: the controller behind it must remove it`;
  }
  if (pod.nodeLostMs === null || forceMs(facts, pod) !== null) return null;
  return (
    `${name} may still run on ${node ?? 'its node'}, which does not report, and nothing refuses what it writes: delete the node, or set ` +
    `the annotation ${ANNOTATIONS.forceLostNodes}: "true" to go on without it`
  );
}

function listed(names: readonly string[]): string {
  return names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ');
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
