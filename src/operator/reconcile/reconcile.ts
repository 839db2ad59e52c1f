import { type ApiObject, type ObjectKey } from '../../kube/api/api-object.ts';
import type { Outcome } from '../../kube/api/outcome.ts';
import type { Reconciled } from '../../kube/control/controller.ts';
import type { JobKind, TrainingJob } from '../kinds/kind.ts';
import { parseJob } from '../kinds/parse-job.ts';
import { errorText, MANAGERS, validateJob } from '../kinds/validate.ts';
import { jobStatusOf } from '../status/job-status.ts';
import { parseRecord } from '../training-run/parse-record.ts';
import { FIRST_RECORD, type RunRecord } from '../training-run/record.ts';
import { newTrainingRun, runName, statusOf, TRAINING_RUNS } from '../training-run/training-run.ts';
import { applyPlan } from './apply.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import type { OperatorWorld } from './world.ts';

/** From so many pods on, the changes of some time share one pass, and one write of each status. */
const MANY = 50;
/** By then the watches have shown what the pass before has written. */
const REST_MS = 500;

/** Brings the job of this key one step closer to what it should be. */
export async function reconcileJob(
  world: OperatorWorld,
  kind: JobKind,
  key: ObjectKey,
  { signal }: { readonly signal: AbortSignal },
): Promise<Reconciled> {
  const object = world.stores.jobs.get(kind)?.get(key) ?? null;
  if (object === null || object.metadata.deletionTimestamp !== undefined) return { kind: 'settled' };
  const job = parseJob(kind, object);
  const outcome = await reconcileParsed(world, job, object, signal);
  return job.replicas.reduce((sum, { count }) => sum + count, 0) > MANY ? { ...outcome, restMs: REST_MS } : outcome;
}

async function reconcileParsed(world: OperatorWorld, job: TrainingJob, object: ApiObject, signal: AbortSignal): Promise<Reconciled> {
  if (job.run.managedBy === MANAGERS.multiKueue) return { kind: 'settled' };
  const run = await runOf(world, job, signal);
  if (!run.ok) return run.kind === 'alreadyExists' ? { kind: 'behind' } : { kind: 'retry', reason: run.message };
  const before = parseRecord(run.value['status']);
  const [error, ...errors] = validateJob(job.kind, object).map(errorText);
  if (error !== undefined) return markInvalid(world, { job, run: run.value, before, signal }, [error, ...errors].join('; '));
  const record = before ?? FIRST_RECORD;
  const observed = await observe(world, job, record, signal);
  if (!observed.ok) return { kind: 'retry', reason: observed.message };
  if (observed.value === null) return { kind: 'behind' };
  const plan = decide(observed.value, record, jobStatusOf(object));
  return applyPlan(world, { job, run: run.value, before, signal }, plan);
}

/** The TrainingRun of a job, which is created with the first look at the job. */
async function runOf(world: OperatorWorld, job: TrainingJob, signal: AbortSignal): Promise<Outcome<ApiObject>> {
  const known = world.stores.runs.get({ namespace: job.namespace, name: runName(job) });
  if (known !== null) return { ok: true, value: known };
  const { kind, namespace, name, uid } = job;
  return world.api.create(TRAINING_RUNS, newTrainingRun({ resource: kind.resource, namespace, name, uid, index: null }), { signal });
}

interface Marked {
  readonly job: TrainingJob;
  readonly run: ApiObject;
  readonly before: RunRecord | null;
  readonly signal: AbortSignal;
}

/** An invalid job that got in all the same starts nothing, and says which rule it breaks. */
async function markInvalid(world: OperatorWorld, { job, run, before, signal }: Marked, message: string): Promise<Reconciled> {
  const record: RunRecord = { ...(before ?? FIRST_RECORD), phase: 'Invalid', message };
  if (before?.phase === 'Invalid' && before.message === message) return { kind: 'stuck', reason: message };
  const written = await world.api.replace(TRAINING_RUNS, { ...run, status: statusOf(record) }, { subresource: 'status', signal });
  if (!written.ok) return { kind: 'retry', reason: written.message };
  world.voice.event(job.object, { type: 'Warning', reason: `${job.kind.resource.kind}FailedValidation`, message });
  return { kind: 'stuck', reason: message };
}
