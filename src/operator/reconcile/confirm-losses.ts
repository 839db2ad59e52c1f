import { type Outcome, succeeded } from '../../kube/api/outcome.ts';
import { NODES, PODS } from '../../kube/api/resources.ts';
import type { RunRecord } from '../training-run/record.ts';
import type { Facts } from './draft.ts';
import { inParallel } from './in-parallel.ts';
import { type Loss, lossesOf } from './loss.ts';
import { isNodeFaulty } from './node-state.ts';
import type { OperatorWorld } from './world.ts';

/**
 * Whether the API server itself confirms the losses that this pass charges. A watch may lag: it may
 * show a pod whose successor has come already, or a pod that is gone on a node that was lost or
 * faulty later, or a fault that is over. Such a pass must decide nothing.
 */
export async function areLossesReal(world: OperatorWorld, facts: Facts, record: RunRecord, signal: AbortSignal): Promise<Outcome<boolean>> {
  if (record.endedAt !== null) return succeeded(true);
  const losses = lossesOf(facts, record);
  // A gang restarts once, for the loss that comes first.
  const charged = facts.mode === 'gang' ? losses.slice(0, 1) : losses;
  const answers = await inParallel(charged, (loss) => isReal(world, facts, loss, signal));
  return answers.find(({ ok }) => !ok) ?? succeeded(answers.every((answer) => answer.ok && answer.value));
}

async function isReal(world: OperatorWorld, { job }: Facts, { pod, end }: Loss, signal: AbortSignal): Promise<Outcome<boolean>> {
  if (pod === null) return succeeded(true);
  const stored = await world.api.get(PODS, { namespace: job.namespace, name: pod.name }, { signal });
  if (!stored.ok && stored.kind !== 'notFound') return stored;
  if (stored.ok && stored.value.metadata.uid !== pod.uid) return succeeded(false);
  if (end.cause === 'NODE_LOST') return succeeded(stored.ok);
  if (end.cause !== 'NODE_FAULTY') return succeeded(true);
  if (!stored.ok || pod.node === null) return succeeded(false);
  const node = await world.api.get(NODES, { namespace: null, name: pod.node }, { signal });
  return node.ok || node.kind === 'notFound' ? succeeded(node.ok && isNodeFaulty(world, node.value)) : node;
}
