import { formatDuration } from '../../core/duration.ts';
import type { ApiObject, NewObject } from '../../kube/api/api-object.ts';
import { apiVersionOf, type Resource } from '../../kube/api/resource.ts';
import { numberAt, textAt } from '../../kube/objects/fields.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import type { RoomRecord, RunRecord } from './record.ts';

/** The TrainingRun, the record of a run that outlives its job. */
export const TRAINING_RUNS: Resource = {
  group: 'holdfast.dev',
  version: 'v1alpha1',
  plural: 'trainingruns',
  kind: 'TrainingRun',
  isNamespaced: true,
};

const UID_CHARACTERS = 5;

/**
 * The name of the TrainingRun of a job: the job's, and the first five characters of its uid. An
 * index that is a run of its own stands between them.
 */
export function runName({ name, uid }: Pick<TrainingJob, 'name' | 'uid'>, index: number | null = null): string {
  return [name, ...(index === null ? [] : [index]), uid.slice(0, UID_CHARACTERS)].join('-');
}

/** The job that a TrainingRun is about. */
export interface RunSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** The completion index that is a run of its own; null: the whole job is one run. */
  readonly index: number | null;
}

/** What a TrainingRun is made for. */
export interface RunOwner {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly index: number | null;
}

/**
 * A new TrainingRun. It has no owner reference: it outlives the job, so that a time to live does
 * not delete the evidence.
 */
export function newTrainingRun({ resource, name, namespace, uid, index }: RunOwner): NewObject {
  const job = { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid, ...(index === null ? {} : { index }) };
  return {
    apiVersion: apiVersionOf(TRAINING_RUNS),
    kind: TRAINING_RUNS.kind,
    metadata: { name: runName({ name, uid }, index), namespace },
    spec: { job },
  };
}

/** The job that a TrainingRun is about; null: the object does not say. */
export function subjectOf(run: ApiObject): RunSubject | null {
  const text = (name: string): string | null => textAt(run, 'spec', 'job', name);
  const [apiVersion, kind, name, uid] = [text('apiVersion'), text('kind'), text('name'), text('uid')];
  return apiVersion === null || kind === null || name === null || uid === null
    ? null
    : { apiVersion, kind, name, uid, index: numberAt(run, 'spec', 'job', 'index') };
}

/** The status of a TrainingRun: the record, and what kubectl shows of it in one line. */
export function statusOf(record: RunRecord): Readonly<Record<string, unknown>> {
  const { trial, ...progress } = record.progress;
  // kubectl shows a text that is null as <no value>.
  const shown = trial === null ? progress : record.progress;
  return { ...record, progress: shown, lostWork: lostWorkText(record), madeRoom: roomText(record.room) };
}

/** `for web/api-7d9: asked 12:00:01, saved at step 400 in 3s, left 12:00:04, back after 2m`. */
function roomText(room: RoomRecord | null): string {
  if (room === null) return '';
  const { stage, pod, pods, askedAt, savedAt, savedStep, leftAt, backAt, reason } = room;
  const took = (from: string, to: string): string => formatDuration(Math.max(0, Date.parse(to) - Date.parse(from)));
  return [
    `for ${pod}: asked ${askedAt}`,
    ...(savedAt === null ? [] : [`saved${savedStep === null ? '' : ` at step ${savedStep}`} in ${took(askedAt, savedAt)}`]),
    ...(leftAt === null ? [] : [`left ${leftAt}${pods === null ? '' : ` with ${pods.length} replica${pods.length === 1 ? '' : 's'}`}`]),
    ...(backAt === null || leftAt === null ? [] : [`back after ${took(leftAt, backAt)}`]),
    ...(stage === 'refused' ? [`stays, because ${reason ?? 'a budget refused an eviction'}`] : []),
    ...(stage === 'called-off' ? ['called off'] : []),
  ].join(', ');
}

/** Accelerator time that was trained twice; a run without accelerators counts its own time. */
function lostWorkText({ totals, attempts }: RunRecord): string {
  const hasEnded = attempts.some(({ end }) => end !== null);
  if (!hasEnded) return '';
  return formatDuration(1000 * (totals.lostAcceleratorSeconds === 0 ? totals.lostSeconds : totals.lostAcceleratorSeconds));
}
