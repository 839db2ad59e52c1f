import type { ApiObject } from '../../kube/api/api-object.ts';
import type { Failure } from '../../kube/api/outcome.ts';
import { PODS } from '../../kube/api/resources.ts';
import { ASK_ANNOTATIONS, ASKED_BY } from '../kinds/annotations.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import type { RunRecord } from '../training-run/record.ts';
import { statusOf, TRAINING_RUNS } from '../training-run/training-run.ts';
import type { Plan, PodAsk } from './draft.ts';
import { inParallel } from './in-parallel.ts';
import type { OperatorWorld } from './world.ts';

/** Gives or takes back the notices that ask for a save. */
export async function askPods(
  world: OperatorWorld,
  namespace: string,
  asks: readonly PodAsk[],
  signal: AbortSignal,
): Promise<Failure | null> {
  const failures = await inParallel(asks, async ({ name, isAsked }) => {
    const annotations = { [ASK_ANNOTATIONS.notice]: isAsked ? 'save-requested' : null, [ASK_ANNOTATIONS.from]: isAsked ? ASKED_BY : null };
    const outcome = await world.api.patch(PODS, { namespace, name }, { metadata: { annotations } }, { signal });
    return outcome.ok || outcome.kind === 'notFound' ? null : outcome;
  });
  return failures.find((failure) => failure !== null) ?? null;
}

/**
 * Evicts the pods one after another. The first refusal of a budget ends it: the gang does not make
 * room, and restarts if a pod of it has left already. A conflict calls for another look after the
 * others. `run` is the TrainingRun as it is now.
 */
export async function evictPods(world: OperatorWorld, { job, run, signal }: Subject, plan: Plan): Promise<Failure | null> {
  let conflict: Failure | null = null;
  for (const { name, uid, isForced } of plan.evictPods) {
    const key = { namespace: job.namespace, name };
    const outcome = isForced
      ? await world.api.delete(PODS, key, { uid, graceSeconds: 0, signal })
      : await world.api.evict(key, { uid, isDryRun: false, signal });
    if (outcome.ok) world.voice.count('deleted_pods_total');
    else if (outcome.kind === 'tooManyRequests') return refuseRoom(world, { about: job.object, run, signal }, plan.record, outcome.message);
    else if (outcome.kind === 'conflict') conflict = outcome;
    else if (outcome.kind !== 'notFound') return outcome;
  }
  return conflict;
}

interface Subject {
  readonly job: TrainingJob;
  readonly run: ApiObject;
  readonly signal: AbortSignal;
}

/**
 * A gang of which a budget has kept a pod makes no room. `run` is the TrainingRun as it is now.
 */
export async function refuseRoom(
  world: OperatorWorld,
  { about, run, signal }: Refused,
  record: RunRecord,
  why: string,
): Promise<Failure | null> {
  if (record.room === null) return null;
  const reason = 'a budget refused an eviction';
  const next: RunRecord = { ...record, room: { ...record.room, stage: 'refused', leftAt: null, reason } };
  const written = await world.api.replace(TRAINING_RUNS, { ...run, status: statusOf(next) }, { subresource: 'status', signal });
  if (!written.ok) return written;
  world.voice.event(about, { type: 'Warning', reason: 'RoomRefused', message: `the gang is restored: ${why}` });
  return null;
}

interface Refused {
  /** The job. */
  readonly about: ApiObject;
  readonly run: ApiObject;
  readonly signal: AbortSignal;
}
