import { textAt } from '../../kube/objects/fields.ts';
import { controllerOf, type KubeObject } from '../../kube/objects/object.ts';
import type { Pod } from '../../kube/objects/pod.ts';
import { ATTEMPT_LABEL } from '../../operator/kinds/names.ts';
import { parseRecord } from '../../operator/training-run/parse-record.ts';
import type { AttemptEndRecord, AttemptRecord, RunRecord } from '../../operator/training-run/record.ts';

/** A TrainingRun: the operator's record of a run, which outlives its job and its pods. */
export interface RecordedRun {
  readonly object: KubeObject;
  readonly job: { readonly kind: string; readonly name: string; readonly uid: string | null };
  readonly record: RunRecord;
}

/** One attempt in a TrainingRun. */
export interface RecordedAttempt {
  readonly run: RecordedRun;
  readonly attempt: AttemptRecord;
  /** How it ended; null: it has not, or the operator has not noticed. */
  readonly end: AttemptEndRecord | null;
}

/** The TrainingRuns of a cluster or a dump, by their job. */
export type RunRecords = ReadonlyMap<string, readonly RecordedRun[]>;

/** The TrainingRuns among these objects. One without a readable status is left out. */
export function runRecordsOf(objects: readonly KubeObject[]): RunRecords {
  return Map.groupBy(objects.flatMap(runOf), ({ object, job }) => jobKey({ ...job, namespace: object.namespace }));
}

/** The runs of a job. Several jobs may have had the same name; without a uid all of them count. */
function runsOfJob(records: RunRecords, job: Pick<KubeObject, 'kind' | 'name' | 'namespace' | 'uid'>): readonly RecordedRun[] {
  const runs = records.get(jobKey(job)) ?? [];
  return runs.filter((run) => job.uid === null || run.job.uid === null || run.job.uid === job.uid);
}

/** The attempt of a pod, by its label. A pod without one belongs to the first attempt. */
export function attemptOfPod(records: RunRecords, { object, labels }: Pod): RecordedAttempt | null {
  const owner = records.size === 0 ? null : controllerOf(object);
  if (owner === null) return null;
  const number = labels.get(ATTEMPT_LABEL) ?? '1';
  for (const run of runsOfJob(records, { ...owner, namespace: object.namespace })) {
    const attempt = run.record.attempts.find((each) => String(each.number) === number);
    if (attempt !== undefined) return { run, attempt, end: attempt.end };
  }
  return null;
}

/** Every attempt of these runs that has ended. */
export function endedAttempts(runs: Iterable<RecordedRun>): readonly RecordedAttempt[] {
  return [...runs].flatMap((run) =>
    run.record.attempts.flatMap((attempt) => (attempt.end === null ? [] : [{ run, attempt, end: attempt.end }])),
  );
}

function runOf(object: KubeObject): readonly RecordedRun[] {
  if (object.kind !== 'TrainingRun') return [];
  const text = (name: string): string | null => textAt(object.fields, 'spec', 'job', name);
  const [kind, name, uid] = [text('kind'), text('name'), text('uid')];
  const record = parseRecord(object.fields['status']);
  return kind === null || name === null || record === null ? [] : [{ object, job: { kind, name, uid }, record }];
}

function jobKey({ kind, name, namespace }: Pick<KubeObject, 'kind' | 'name' | 'namespace'>): string {
  return `${namespace ?? 'default'}/${kind}/${name}`;
}
