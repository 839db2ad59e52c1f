import { mayFollowFromLoss, openUntilMs } from '../../domain/gang/lost-node.ts';
import type { Facts } from './draft.ts';
import type { Loss } from './loss.ts';
import type { ObservedPod } from './observed-pod.ts';

/**
 * Until when it is open whether the failure of a gang follows from the loss of a peer’s node; null:
 * it is not.
 */
export function openUntil(facts: Facts, loss: Loss): number | null {
  const failedMs = loss.pod?.ended?.finishedMs ?? null;
  if (failedMs === null || !mayFollowFromLoss(loss.end.cause)) return null;
  const nodes = nodesOfPeers(facts, loss);
  return openUntilMs(
    { failedMs, nowMs: facts.nowMs },
    nodes.flatMap((node) => facts.heardMs.get(node) ?? []),
  );
}

/** The other nodes on which the gang of a failed pod still runs. Empty where there is no gang. */
export function nodesOfPeers({ job, mode, pods }: Facts, { pod, place }: Loss): readonly string[] {
  const aside = job.kind.asideRoles;
  if (pod === null || mode !== 'gang' || aside.includes(place.replica.role)) return [];
  const isPeer = ({ attempt, role, end }: ObservedPod): boolean =>
    attempt === pod.attempt && !aside.includes(role) && end.class === 'running';
  const nodes = pods.filter(isPeer).flatMap(({ node }) => (node === null || node === pod.node ? [] : [node]));
  return [...new Set(nodes)];
}
