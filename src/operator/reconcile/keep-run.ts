import type { ApiObject, ObjectKey } from '../../kube/api/api-object.ts';
import type { Failure } from '../../kube/api/outcome.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { JOBS } from '../../kube/api/resources.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import type { Reconciled } from '../../kube/control/controller.ts';
import type { StoreReader } from '../../kube/watch/store.ts';
import { parseRecord } from '../training-run/parse-record.ts';
import { FIRST_RECORD, type RunRecord } from '../training-run/record.ts';
import { statusOf, subjectOf, TRAINING_RUNS } from '../training-run/training-run.ts';
import type { OperatorWorld } from './world.ts';

interface Signalled {
  readonly signal: AbortSignal;
}

/** Keeps a TrainingRun for a while after its job is gone, and deletes it then. */
export async function keepRun(world: OperatorWorld, key: ObjectKey, { signal }: Signalled): Promise<Reconciled> {
  const run = world.stores.runs.get(key);
  if (run === null) return { kind: 'settled' };
  const job = await jobOf(world, run, signal);
  if (job !== 'gone') return job === 'there' ? { kind: 'settled' } : { kind: 'retry', reason: job.message };
  const record = parseRecord(run['status']) ?? FIRST_RECORD;
  if (record.endedAt === null) return markDeleted(world, run, record, signal);
  const leftMs = Date.parse(record.endedAt) + world.keepRunsMs - world.clock.now();
  if (leftMs > 0) return { kind: 'again', afterMs: leftMs };
  const deleted = await world.api.delete(TRAINING_RUNS, key, { uid: run.metadata.uid, signal });
  return deleted.ok || deleted.kind === 'notFound' ? { kind: 'settled' } : { kind: 'retry', reason: deleted.message };
}

/**
 * Whether the job of a TrainingRun is still there. Asks the API server itself before it says no,
 * because the watch of jobs may lag behind. A run of a kind that nobody watches is left alone.
 */
async function jobOf({ api, stores }: OperatorWorld, run: ApiObject, signal: AbortSignal): Promise<'there' | 'gone' | Failure> {
  const subject = subjectOf(run);
  const watched: readonly (readonly [Resource, StoreReader])[] = [
    ...[...stores.jobs].map(([kind, store]) => [kind.resource, store] as const),
    [JOBS, stores.observed],
  ];
  const [resource, store] = watched.find(([{ kind }]) => kind === subject?.kind) ?? [];
  if (subject === null || resource === undefined) return 'there';
  const key = { namespace: run.metadata.namespace ?? null, name: subject.name };
  if (store?.get(key)?.metadata.uid === subject.uid) return 'there';
  const job = await api.get(resource, key, { signal });
  if (!job.ok) return job.kind === 'notFound' ? 'gone' : job;
  return job.value.metadata.uid === subject.uid ? 'there' : 'gone';
}

async function markDeleted(world: OperatorWorld, run: ApiObject, record: RunRecord, signal: AbortSignal): Promise<Reconciled> {
  const endedAt = timestamp(world.clock.now());
  const ended: RunRecord = { ...record, phase: 'Deleted', message: 'the job was deleted before it ended', endedAt };
  const written = await world.api.replace(TRAINING_RUNS, { ...run, status: statusOf(ended) }, { subresource: 'status', signal });
  return written.ok ? { kind: 'again', afterMs: world.keepRunsMs } : { kind: 'retry', reason: written.message };
}
