import type { ApiObject } from '../../kube/api/api-object.ts';
import { EVENTS } from '../../kube/api/resources.ts';
import type { Outcome } from '../../kube/api/outcome.ts';
import { textAt, timeAt } from '../../kube/objects/fields.ts';
import type { OperatorWorld } from '../reconcile/world.ts';

/** Cluster Autoscaler has started a machine for the pod, or Karpenter a NodeClaim. */
const ANNOUNCED: ReadonlySet<string> = new Set(['TriggeredScaleUp', 'Nominated']);
/** A machine that was announced longer ago has failed to come. */
const PATIENCE_MS = 15 * 60_000;
const MOST_EVENTS = 200;

/** The message with which an autoscaler has announced a node for the pod; null: none has. */
export async function announcedNode(world: OperatorWorld, pod: ApiObject, signal: AbortSignal): Promise<Outcome<string | null>> {
  const { uid, namespace = null } = pod.metadata;
  const query = { namespace, fieldSelector: `involvedObject.uid=${uid}`, limit: MOST_EVENTS, continueAt: null };
  const page = await world.api.list(EVENTS, query, { signal });
  if (!page.ok) return page;
  const sinceMs = world.clock.now() - PATIENCE_MS;
  const event = page.value.items.find((each) => ANNOUNCED.has(textAt(each, 'reason') ?? '') && timeOf(each) >= sinceMs);
  return { ok: true, value: event === undefined ? null : (textAt(event, 'message') ?? 'a node is announced') };
}

function timeOf(event: ApiObject): number {
  return timeAt(event, 'lastTimestamp') ?? timeAt(event, 'eventTime') ?? timeAt(event, 'metadata', 'creationTimestamp') ?? 0;
}
