import type { DeclaredLoss } from '../../domain/gang/lost-node.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { type Failure, type Outcome, succeeded } from '../../kube/api/outcome.ts';
import { NODES } from '../../kube/api/resources.ts';
import { type Condition, conditionsOf } from '../../kube/objects/condition.ts';
import { listAt, mapAt, textAt, timeAt } from '../../kube/objects/fields.ts';
import { nodeOf } from '../../kube/objects/node.ts';
import { objectOf } from '../../kube/objects/object.ts';
import type { NodePlace } from './draft.ts';
import { inParallel } from './in-parallel.ts';
import { type NodeState, SOUND } from './pod-facts.ts';
import type { OperatorWorld, Stranded } from './world.ts';

const UNREACHABLE = 'node.kubernetes.io/unreachable';

/** The state of the node of each of these pods. */
export async function nodeStates(
  world: OperatorWorld,
  pods: readonly ApiObject[],
  signal: AbortSignal,
): Promise<Outcome<(pod: ApiObject) => NodeState>> {
  const stranded = await strandedPods(world, pods, signal);
  if (!stranded.ok) return stranded;
  return succeeded((pod) => {
    const { lostMs, loss } = stranded.value.get(pod.metadata.uid) ?? SOUND;
    return { lostMs, loss, faultyMs: faultyMs(world, textAt(pod, 'spec', 'nodeName')) };
  });
}

/** Since when a node reports a fault; null: it reports none. */
function faultyMs(world: OperatorWorld, name: string | null): number | null {
  return name === null ? null : (faultOf(world, world.stores.nodes.get({ namespace: null, name }))?.sinceMs ?? null);
}

/** Whether a node reports a fault that ends attempts. */
export function isNodeFaulty(world: OperatorWorld, node: ApiObject): boolean {
  return faultOf(world, node) !== null;
}

function faultOf({ faultConditions }: OperatorWorld, node: ApiObject | null): Condition | null {
  return conditionsOf(node).find(({ type, status }) => status === 'True' && faultConditions.includes(type)) ?? null;
}

/**
 * The pods on lost nodes, by their uid. The watch of nodes may lag behind
 * the one of pods, and show a pod on a node that is back: so the API server itself is asked once
 * for each pod. A loss ends the attempt, and takes pods from kubelets that may be there.
 */
async function strandedPods(
  world: OperatorWorld,
  pods: readonly ApiObject[],
  signal: AbortSignal,
): Promise<Outcome<ReadonlyMap<string, Stranded>>> {
  const onNode = Map.groupBy(pods, (pod) => textAt(pod, 'spec', 'nodeName') ?? '');
  onNode.delete('');
  const answers = await inParallel([...onNode], ([name, own]) => strandedOn(world, name, own, signal));
  const failure = answers.find((answer): answer is Failure => answer !== null && 'ok' in answer);
  return failure ?? succeeded(new Map(answers.flatMap((answer) => (answer === null || 'ok' in answer ? [] : [...answer]))));
}

/** The stranded pods of one node; null: it reports. */
async function strandedOn(
  { stores, lostNodes, api, clock }: OperatorWorld,
  name: string,
  pods: readonly ApiObject[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Stranded> | Failure | null> {
  const key = { namespace: null, name };
  if (!isNodeLost(stores.nodes.get(key))) {
    lostNodes.delete(name);
    return null;
  }
  const known = lostNodes.get(name) ?? new Map<string, Stranded>();
  const fresh = pods.filter(({ metadata }) => !known.has(metadata.uid));
  if (fresh.length === 0) return known;
  const node = await api.get(NODES, key, { signal });
  if (!node.ok && node.kind !== 'notFound') return node;
  if (!node.ok || !isNodeLost(node.value)) return known;
  const stranded = { lostMs: clock.now(), loss: declaredLoss(node.value, clock.now()) };
  const all = new Map([...known, ...fresh.map(({ metadata }) => [metadata.uid, stranded] as const)]);
  lostNodes.set(name, all);
  return all;
}

/** The loss of a node as its object tells it, which may be long before it was noticed. */
function declaredLoss(node: ApiObject, noticedMs: number): DeclaredLoss {
  const ready = listAt(node, 'status', 'conditions').find((each) => textAt(each, 'type') === 'Ready');
  const taint = listAt(node, 'spec', 'taints').find((each) => textAt(each, 'key') === UNREACHABLE);
  const declaredMs = textAt(ready, 'status') === 'Unknown' ? timeAt(ready, 'lastTransitionTime') : null;
  return { declaredMs: declaredMs ?? timeAt(taint, 'timeAdded') ?? noticedMs, heardMs: timeAt(ready, 'lastHeartbeatTime') };
}

/** The kubelet of the node does not report any more. */
function isNodeLost(object: ApiObject | null): boolean {
  if (object === null) return false;
  const isTainted = listAt(object, 'spec', 'taints').some((taint) => textAt(taint, 'key') === UNREACHABLE);
  return (
    isTainted ||
    listAt(object, 'status', 'conditions').some((each) => textAt(each, 'type') === 'Ready' && textAt(each, 'status') === 'Unknown')
  );
}

/** Where a node stands. */
export function placeOf(object: ApiObject | null): NodePlace {
  const labels = mapAt(object, 'metadata', 'labels');
  const read = object === null ? null : objectOf(object);
  return {
    pool: read === null ? null : nodeOf(read).pool,
    zone: labels.get('topology.kubernetes.io/zone') ?? null,
    machineType: labels.get('node.kubernetes.io/instance-type') ?? null,
  };
}
