import { isDeepStrictEqual } from 'node:util';
import { actionFor } from '../../domain/gang/end-action.ts';
import type { ApiObject, ObjectKey } from '../../kube/api/api-object.ts';
import { type Failure, type Outcome, succeeded } from '../../kube/api/outcome.ts';
import { JOBS } from '../../kube/api/resources.ts';
import type { Reconciled } from '../../kube/control/controller.ts';
import { earliest, roomStepMs } from '../reconcile/look-again.ts';
import { inParallel } from '../reconcile/in-parallel.ts';
import { nodeStates, placeOf } from '../reconcile/node-state.ts';
import { readLogTail } from '../reconcile/read-log-tail.ts';
import { readRoom } from '../reconcile/room-facts.ts';
import { OWNER_INDEX, type OperatorWorld, SUBJECT_INDEX } from '../reconcile/world.ts';
import { parseRecord } from '../training-run/parse-record.ts';
import { FIRST_RECORD, type RunRecord } from '../training-run/record.ts';
import { newTrainingRun, runName, statusOf, subjectOf, TRAINING_RUNS } from '../training-run/training-run.ts';
import { extension } from './extend-backoff.ts';
import { followRun } from './follow-run.ts';
import { freeLostPods, nextFreeMs } from './free-lost-pods.ts';
import { giveJobRoom, withRoom } from './give-room.ts';
import { type MemberPod, memberPodOf } from './member-pod.ts';
import { holdsIndex, type JobEnd, type ObservedJob, observedJobOf, whyUnobservable } from './observed-job.ts';
import { followRoom, podsOfResumed } from './suspend-job.ts';

interface Signalled {
  readonly signal: AbortSignal;
}

/**
 * Keeps the TrainingRuns of a Job of Kubernetes. The Job controller decides what happens; the
 * operator records it, gives up pods on lost nodes, and raises the limit of failures on request.
 */
export async function reconcileObserved(world: OperatorWorld, key: ObjectKey, { signal }: Signalled): Promise<Reconciled> {
  const object = world.stores.observed.get(key);
  if (object === null || object.metadata.deletionTimestamp !== undefined) return { kind: 'settled' };
  const job = observedJobOf(object);
  const problem = whyUnobservable(job);
  if (problem !== null) return refuse(world, job, problem, signal);
  const observed = await podsOf(world, job, signal);
  if (!observed.ok) return afterFailure(observed);
  const pods = observed.value;
  const outcomes = await inParallel(indexesOf(world, job, pods), (index) => keepOne(world, job, { index, pods }, signal));
  const failure = outcomes.find((outcome) => !outcome.ok);
  if (failure !== undefined && !failure.ok) return afterFailure(failure);
  const freed = await freeLostPods(world, job, pods, signal);
  if (freed !== null) return afterFailure(freed);
  const steps = outcomes.map((outcome) => (outcome.ok ? outcome.value.progress.lastGoodStep : null)).filter((step) => step !== null);
  const extended = await extend(world, job, steps.length === 0 ? null : Math.max(...steps), signal);
  if (extended !== null) return afterFailure(extended);
  const nowMs = world.clock.now();
  const times = [nextFreeMs(job, pods, nowMs), ...outcomes.map((outcome) => (outcome.ok ? roomStepMs(outcome.value, nowMs) : null))];
  const againMs = earliest(times);
  return againMs === null ? { kind: 'settled' } : { kind: 'again', afterMs: Math.max(1, againMs - nowMs) };
}

async function podsOf(world: OperatorWorld, job: ObservedJob, signal: AbortSignal): Promise<Outcome<readonly MemberPod[]>> {
  const objects = world.stores.pods.by(OWNER_INDEX, job.uid);
  const states = await nodeStates(world, objects, signal);
  if (!states.ok) return states;
  const pods = objects.flatMap((pod) => memberPodOf(job, pod, () => states.value(pod)) ?? []);
  return succeeded(pods.toSorted((a, b) => a.createdMs - b.createdMs || (a.name < b.name ? -1 : 1)));
}

/** The indexes that are runs of their own and have had a pod; null stands for the whole Job. */
function indexesOf({ stores }: OperatorWorld, job: ObservedJob, pods: readonly MemberPod[]): readonly (number | null)[] {
  if (!job.hasOwnIndexes) return [null];
  const known = stores.runs.by(SUBJECT_INDEX, job.uid).flatMap((run) => subjectOf(run)?.index ?? []);
  return [...new Set([...known, ...pods.flatMap(({ index }) => index ?? [])])].toSorted((a, b) => a - b);
}

interface OneRun {
  readonly index: number | null;
  readonly pods: readonly MemberPod[];
}

/** Brings the TrainingRun of a Job, or of one of its indexes, up to date. */
async function keepOne(world: OperatorWorld, job: ObservedJob, { index, pods }: OneRun, signal: AbortSignal): Promise<Outcome<RunRecord>> {
  const run = await runOf(world, job, index, signal);
  if (!run.ok) return run;
  const before = parseRecord(run.value['status']);
  const record = before ?? FIRST_RECORD;
  const leading = job.isIndexed ? (index ?? 0) : null;
  const own = pods.filter((pod) => leading === null || pod.index === leading);
  const nowMs = world.clock.now();
  const progress = world.progressOf(progressKey(job, index), record.attempt);
  const followed = followRun(
    {
      nowMs,
      pods: own,
      peers: index === null ? pods.filter((pod) => !own.includes(pod)) : [],
      gangSize: job.gangSize,
      isSuspended: job.isSuspended,
      ended: endedFor(job, index),
      progress,
      logs: await readLogs(world, job, newlyFailed(record, own), signal),
      placeOf: (node) => placeOf(world.stores.nodes.get({ namespace: null, name: node })),
    },
    record,
  );
  const room = await readRoom(world, followed, () => podsOfResumed(job), signal);
  const step = giveJobRoom({ nowMs, job, pods, progress, room }, followed.room);
  const next = withRoom(followed, step.room);
  const isSame = before !== null && isDeepStrictEqual(before, next);
  const written: Outcome<ApiObject> = isSame
    ? run
    : await world.api.replace(TRAINING_RUNS, { ...run.value, status: statusOf(next) }, { subresource: 'status', signal });
  if (!written.ok) return written;
  for (const event of step.events) world.voice.event(job.object, event);
  const failure = index === null ? await followRoom(world, job, { run: written.value, record: next, pods, signal }) : null;
  return failure ?? { ok: true, value: next };
}

/** Under what the progress of a run is kept. */
export function progressKey({ uid }: Pick<ObservedJob, 'uid'>, index: number | null): string {
  return index === null ? uid : `${uid}/${index}`;
}

async function runOf(world: OperatorWorld, job: ObservedJob, index: number | null, signal: AbortSignal): Promise<Outcome<ApiObject>> {
  const known = world.stores.runs.get({ namespace: job.namespace, name: runName(job, index) });
  if (known !== null) return { ok: true, value: known };
  const { namespace, name, uid } = job;
  return world.api.create(TRAINING_RUNS, newTrainingRun({ resource: JOBS, namespace, name, uid, index }), { signal });
}

function endedFor(job: ObservedJob, index: number | null): JobEnd | null {
  if (index === null) return job.ended;
  const { completed, failed } = job.endedIndexes;
  if (holdsIndex(completed, index)) return { isComplete: true, atMs: null, message: null };
  return holdsIndex(failed, index) ? { isComplete: false, atMs: null, message: `the Job gave up index ${index}` } : job.ended;
}

function newlyFailed(record: RunRecord, pods: readonly MemberPod[]): readonly MemberPod[] {
  return pods.filter(({ name, end }) => {
    const action = actionFor('OnFailure', end.class);
    const isError = action !== 'stay' && action !== 'succeed' && action !== 'restart';
    return isError && record.attempts.every((attempt) => attempt.pod !== name || attempt.end === null);
  });
}

async function readLogs(
  world: OperatorWorld,
  { namespace, container }: ObservedJob,
  pods: readonly MemberPod[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string | null>> {
  return new Map(await inParallel(pods, ({ name }) => readLogTail(world, { namespace, name, container }, signal)));
}

async function extend(world: OperatorWorld, job: ObservedJob, lastGoodStep: number | null, signal: AbortSignal): Promise<Failure | null> {
  const change = extension(job, lastGoodStep);
  if (change === null) return null;
  const { namespace, name } = job;
  const outcome = await world.api.patch(JOBS, { namespace, name }, change, { signal });
  if (!outcome.ok) return outcome.kind === 'notFound' ? null : outcome;
  const message = `backoffLimit was raised, because the run has made progress: its last good step is ${lastGoodStep}`;
  world.voice.event(job.object, { type: 'Normal', reason: 'BackoffExtended', message });
  return null;
}

/** A Job that cannot have a TrainingRun says why, once. */
async function refuse(world: OperatorWorld, job: ObservedJob, message: string, signal: AbortSignal): Promise<Reconciled> {
  const run = await runOf(world, job, null, signal);
  if (!run.ok) return afterFailure(run);
  const before = parseRecord(run.value['status']);
  if (before?.phase === 'Invalid' && before.message === message) return { kind: 'stuck', reason: message };
  const record: RunRecord = { ...(before ?? FIRST_RECORD), phase: 'Invalid', message };
  const written = await world.api.replace(TRAINING_RUNS, { ...run.value, status: statusOf(record) }, { subresource: 'status', signal });
  if (!written.ok) return afterFailure(written);
  world.voice.event(job.object, { type: 'Warning', reason: 'RunNotObserved', message });
  return { kind: 'stuck', reason: message };
}

/** The watches may lag behind what is stored. */
function afterFailure(failure: Failure): Reconciled {
  if (failure.kind === 'alreadyExists' || failure.kind === 'conflict') return { kind: 'behind' };
  return { kind: 'retry', reason: failure.message };
}
