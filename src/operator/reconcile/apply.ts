import { isDeepStrictEqual } from 'node:util';
import type { ApiObject, NewObject } from '../../kube/api/api-object.ts';
import type { Failure, Outcome } from '../../kube/api/outcome.ts';
import { PODS, SERVICES } from '../../kube/api/resources.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { Reconciled } from '../../kube/control/controller.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import { type JobStatus, jobStatusOf } from '../status/job-status.ts';
import type { RunRecord } from '../training-run/record.ts';
import { statusOf, TRAINING_RUNS } from '../training-run/training-run.ts';
import type { Plan } from './draft.ts';
import { isCurrentRun, MOVED } from './current-run.ts';
import { askPods, evictPods } from './evict-pods.ts';
import { syncExtras } from './extras.ts';
import { inParallel } from './in-parallel.ts';
import { observePod } from './observed-pod.ts';
import { SOUND } from './pod-facts.ts';
import { storedPods } from './vanished-pods.ts';
import type { OperatorWorld } from './world.ts';

/** What a plan is applied to: the versions that it was decided from. */
export interface Subject {
  readonly job: TrainingJob;
  readonly run: ApiObject;
  readonly before: RunRecord | null;
  readonly signal: AbortSignal;
}

/** From so many pods or Services on, one event tells of all of them. */
const MANY = 50;
/** How soon the PodGroup is looked at again that Volcano has not admitted yet. */
const SOON_MS = 1000;
/** A pass that created pods looks again after this time. */
const TAKEN_MS = 10_000;

/**
 * Applies a plan, in the one order that survives an end at any point. The status of the job comes
 * first: to decide the same again changes nothing in it. Then the record, which makes the decision
 * count. Deletions come next, then creations; each is refused where the world is another one than
 * the plan saw.
 */
export async function applyPlan(world: OperatorWorld, subject: Subject, plan: Plan): Promise<Reconciled> {
  const { job, signal } = subject;
  const written = await writeStatuses(world, subject, plan);
  if (!written.ok) return afterFailure(written);
  for (const event of plan.events) world.voice.event(job.object, event);
  for (const counter of plan.counters) world.voice.countJob(counter, job.kind, job.namespace);
  if (plan.isLeftAlone) return afterwards(world, plan);
  return plan.deletesJob ? deleteJob(world, job, signal) : applyChanges(world, subject, plan, written.value);
}

/** Deletes and creates, after the statuses have been written; the run is as it is now. */
async function applyChanges(world: OperatorWorld, subject: Subject, plan: Plan, run: ApiObject): Promise<Reconciled> {
  const { job, signal } = subject;
  const ended = await endPods(world, subject, plan, run);
  const services = await syncServices(world, job, plan, signal);
  const extras = await syncExtras(world, job, plan, signal);
  const failure = ended ?? services ?? extras.failure;
  if (failure !== null) return afterFailure(failure);
  if (plan.createPods.length === 0) return afterwards(world, plan);
  if (!extras.admitsPods) return { kind: 'again', afterMs: SOON_MS };
  if (!(await isStillTrue(world, subject, run, plan))) return { kind: 'behind' };
  const created = await createPods(world, job, plan, signal);
  if (created === null) world.troubles.delete(job.uid);
  else world.troubles.set(job.uid, created.message);
  return created === null ? afterCreation(world, plan) : afterFailure(created);
}

/** A name may be taken by a pod of another owner, whose end calls for no turn of this job. */
function afterCreation(world: OperatorWorld, plan: Plan): Reconciled {
  const next = afterwards(world, plan);
  return { kind: 'again', afterMs: next.kind === 'again' ? Math.min(next.afterMs, TAKEN_MS) : TAKEN_MS };
}

/** Asks pods to save, and deletes or evicts those that go. */
async function endPods(world: OperatorWorld, subject: Subject, plan: Plan, run: ApiObject): Promise<Failure | null> {
  const { job, signal } = subject;
  const asked = await askPods(world, job.namespace, plan.asks, signal);
  const failure = asked ?? (await deletePods(world, job, plan, signal));
  if (failure !== null || plan.evictPods.length === 0) return failure;
  if (!(await isStillTrue(world, subject, run, plan))) return MOVED;
  return evictPods(world, { job, run, signal }, plan);
}

function afterwards(world: OperatorWorld, { againAtMs }: Plan): Reconciled {
  return againAtMs === null ? { kind: 'settled' } : { kind: 'again', afterMs: Math.max(1, againAtMs - world.clock.now()) };
}

/** An invalid object fails again until its job changes; anything else may pass. */
function afterFailure(failure: Failure): Reconciled {
  if (failure.kind === 'invalid') return { kind: 'stuck', reason: failure.message };
  if (failure.kind === 'conflict') return { kind: 'behind' };
  return { kind: 'retry', reason: failure.message };
}

/**
 * Writes each status at most once; the value is the TrainingRun as it is now. A condition of the
 * job cannot be taken back, so that a record which the watch shows late must not decide it.
 */
async function writeStatuses(world: OperatorWorld, subject: Subject, plan: Plan): Promise<Outcome<ApiObject>> {
  const { job, run, before, signal } = subject;
  const known = jobStatusOf(job.object);
  if (!isDeepStrictEqual(known, plan.status)) {
    if (!isDeepStrictEqual(known.conditions, plan.status.conditions) && !(await isCurrentRun(world, run, signal))) return MOVED;
    const status: JobStatus = plan.status;
    const outcome = await world.api.replace(job.kind.resource, { ...job.object, status }, { subresource: 'status', signal });
    if (!outcome.ok) return outcome;
  }
  if (before !== null && isDeepStrictEqual(before, plan.record)) return { ok: true, value: run };
  return world.api.replace(TRAINING_RUNS, { ...run, status: statusOf(plan.record) }, { subresource: 'status', signal });
}

async function deleteJob(world: OperatorWorld, job: TrainingJob, signal: AbortSignal): Promise<Reconciled> {
  const { kind, namespace, name, uid } = job;
  const outcome = await world.api.delete(kind.resource, { namespace, name }, { uid, propagation: 'Background', signal });
  if (!outcome.ok && outcome.kind !== 'notFound') {
    world.voice.event(job.object, {
      type: 'Warning',
      reason: `Failed${kind.deletedReason}`,
      message: `Error deleting: ${outcome.message}`,
    });
    return afterFailure(outcome);
  }
  world.voice.event(job.object, { type: 'Normal', reason: `Successful${kind.deletedReason}`, message: `Deleted job: ${name}` });
  world.voice.countJob('deleted', kind, namespace);
  return { kind: 'settled' };
}

/**
 * Deletes all pods of the plan at once, each only if it is still the same one. A conflict calls for
 * another look: a watch brings no change where the API server refused for a passing reason.
 */
async function deletePods(
  world: OperatorWorld,
  job: TrainingJob,
  { deletePods: pods }: Plan,
  signal: AbortSignal,
): Promise<Failure | null> {
  const failures = await inParallel(pods, async ({ name, uid, isForced }) => {
    const options = { uid, signal, ...(isForced ? { graceSeconds: 0 } : {}) };
    return failureOf(await world.api.delete(PODS, { namespace: job.namespace, name }, options), ['notFound']);
  });
  tellAll(world, job, { verb: 'Delete', done: 'Deleted', noun: 'Pod', names: pods.map(({ name }) => name), failures });
  world.voice.count('deleted_pods_total', failures.filter((failure) => failure === null).length);
  return firstOf(failures);
}

async function syncServices(world: OperatorWorld, job: TrainingJob, plan: Plan, signal: AbortSignal): Promise<Failure | null> {
  const { createServices, deleteServices } = plan;
  const created = await inParallel(createServices, (service) => createOne(world, SERVICES, service, signal));
  tellAll(world, job, { verb: 'Create', done: 'Created', noun: 'Service', names: namesOf(createServices), failures: created });
  world.voice.count('succeeded_service_creation_total', created.filter((failure) => failure === null).length);
  world.voice.count('failed_service_creation_total', created.filter((failure) => failure !== null).length);
  const deleted = await inParallel(deleteServices, async (name) =>
    failureOf(await world.api.delete(SERVICES, { namespace: job.namespace, name }, { signal }), ['notFound']),
  );
  tellAll(world, job, { verb: 'Delete', done: 'Deleted', noun: 'Service', names: deleteServices, failures: deleted });
  return firstOf(created) ?? firstOf(deleted);
}

async function createPods(
  world: OperatorWorld,
  job: TrainingJob,
  { createPods: pods }: Plan,
  signal: AbortSignal,
): Promise<Failure | null> {
  const failures = await inParallel(pods, (pod) => createOne(world, PODS, pod, signal));
  tellAll(world, job, { verb: 'Create', done: 'Created', noun: 'Pod', names: namesOf(pods), failures });
  world.voice.count('created_pods_total', failures.filter((failure) => failure === null).length);
  return firstOf(failures);
}

/**
 * A name that is taken belongs to a pod that the watch has not shown yet, or to a pod that goes.
 */
async function createOne(world: OperatorWorld, resource: Resource, object: NewObject, signal: AbortSignal): Promise<Failure | null> {
  return failureOf(await world.api.create(resource, object, { signal }), ['alreadyExists']);
}

/**
 * Whether nobody has moved the run on, asked of the API server itself. Before the first pod of a
 * later attempt, it must also know no pod of an older one: the watch may lag behind both.
 */
async function isStillTrue(world: OperatorWorld, subject: Subject, run: ApiObject, { record }: Plan): Promise<boolean> {
  const { job, signal } = subject;
  if (!(await isCurrentRun(world, run, signal))) return false;
  if (record.attempt === 1 || Object.keys(record.seen).length > 0) return true;
  const pods = await storedPods(world, job, signal);
  return pods.ok && pods.value.every((pod) => (observePod(job, pod, () => SOUND)?.attempt ?? 0) >= record.attempt);
}

interface Told {
  readonly verb: 'Create' | 'Delete';
  readonly done: 'Created' | 'Deleted';
  readonly noun: 'Pod' | 'Service';
  readonly names: readonly string[];
  readonly failures: readonly (Failure | null)[];
}

/** v1's events, one for each object, or one for all of them where they are many. */
function tellAll({ voice }: OperatorWorld, job: TrainingJob, { verb, done, noun, names, failures }: Told): void {
  const noted = names.filter((_, index) => failures[index] === null);
  const word = noun.toLowerCase();
  const texts = noted.length > MANY ? [`${done} ${noted.length} ${word}s`] : noted.map((name) => `${done} ${word}: ${name}`);
  for (const message of texts) voice.event(job.object, { type: 'Normal', reason: `Successful${verb}${noun}`, message });
  const failure = firstOf(failures);
  if (failure === null || !(failure.kind === 'forbidden' || failure.kind === 'invalid')) return;
  const gerund = verb === 'Create' ? 'creating' : 'deleting';
  voice.event(job.object, { type: 'Warning', reason: `Failed${verb}${noun}`, message: `Error ${gerund}: ${failure.message}` });
}

function namesOf(objects: readonly NewObject[]): readonly string[] {
  return objects.map(({ metadata }) => metadata.name ?? '');
}

function failureOf(outcome: Outcome<unknown>, expected: readonly Failure['kind'][]): Failure | null {
  return outcome.ok || expected.includes(outcome.kind) ? null : outcome;
}

function firstOf(failures: readonly (Failure | null)[]): Failure | null {
  return failures.find((failure) => failure !== null) ?? null;
}
