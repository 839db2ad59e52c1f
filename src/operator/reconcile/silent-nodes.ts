import { mayFollowFromLoss } from '../../domain/gang/lost-node.ts';
import { END_CAUSES } from '../../domain/causes/catalogue.ts';
import { type Failure, type Outcome, succeeded } from '../../kube/api/outcome.ts';
import { LEASES, NODE_LEASE_NAMESPACE } from '../../kube/api/resources.ts';
import { timeAt } from '../../kube/objects/fields.ts';
import type { RunRecord } from '../training-run/record.ts';
import { type Draft, type Facts, phase } from './draft.ts';
import { charge } from './end-attempt.ts';
import { inParallel } from './in-parallel.ts';
import { endsAttempt, type Loss, lossesOf, lostName } from './loss.ts';
import { nodesOfPeers, openUntil } from './open-failure.ts';
import type { OperatorWorld } from './world.ts';

/** How soon the Leases are read again. */
const AGAIN_MS = 5000;

type Heard = ReadonlyMap<string, number>;

/**
 * When the kubelets of a gang were last heard of, by their node. They are asked for only where a
 * failure would end the run, and may follow from the loss of a node that nobody knows of yet. A
 * node without a Lease, or one that the operator may not read, is left out.
 */
export async function readHeard(world: OperatorWorld, facts: Facts, record: RunRecord, signal: AbortSignal): Promise<Outcome<Heard>> {
  const loss = finalFailure(facts, record);
  const answers = await inParallel(loss === null ? [] : nodesOfPeers(facts, loss), (node) => heardOf(world, node, signal));
  const failure = answers.find((answer): answer is Failure => 'ok' in answer);
  return failure ?? succeeded(new Map(answers.flatMap((answer) => ('ok' in answer ? [] : answer))));
}

async function heardOf(
  { api }: OperatorWorld,
  node: string,
  signal: AbortSignal,
): Promise<Failure | readonly (readonly [string, number])[]> {
  const lease = await api.get(LEASES, { namespace: NODE_LEASE_NAMESPACE, name: node }, { signal });
  if (!lease.ok) return lease.kind === 'notFound' || lease.kind === 'forbidden' ? [] : lease;
  const heardMs = timeAt(lease.value, 'spec', 'renewTime');
  return heardMs === null ? [] : [[node, heardMs]];
}

/** The failure after which the run would end, and which the loss of a node may explain. */
function finalFailure(facts: Facts, record: RunRecord): Loss | null {
  if (record.endedAt !== null || facts.job.run.isSuspended) return null;
  const first = lossesOf(facts, record).find((loss) => endsAttempt(facts, loss)) ?? null;
  if (first === null || !mayFollowFromLoss(first.end.cause)) return null;
  return charge(facts, record, first).outcome === 'fail' ? first : null;
}

/** The failure for which the run would end, but for a node that has not been heard of since. */
function openFailure(facts: Facts, record: RunRecord): { readonly loss: Loss; readonly untilMs: number } | null {
  const loss = finalFailure(facts, record);
  const untilMs = loss === null ? null : openUntil(facts, loss);
  return loss === null || untilMs === null ? null : { loss, untilMs };
}

/** When a failure that is open is looked at again; null: none is. */
export function openStepMs(facts: Facts, record: RunRecord): number | null {
  const open = openFailure(facts, record);
  return open === null ? null : Math.min(open.untilMs, facts.nowMs + AGAIN_MS);
}

/** Says what a run waits for that has failed, unless a node is lost. */
export function noteOpen(facts: Facts, draft: Draft): Draft {
  const open = openFailure(facts, draft.record);
  if (open === null) return draft;
  const { title } = END_CAUSES[open.loss.end.cause];
  const message =
    `${lostName(facts, open.loss)} failed: ${title}. No attempt follows unless one of its peers’ nodes is lost: ` +
    `the job fails as soon as all of them have reported, within a minute`;
  return phase(draft, 'Waiting', message);
}
