import type { NewObject } from '../../kube/api/api-object.ts';
import type { Place } from '../kinds/kind.ts';
import { decideSupervision } from '../supervision/decide-supervision.ts';
import { type Refusal, type RefusalCode, refusalText } from '../supervision/refusals.ts';
import { supervisedPod } from '../supervision/supervised-pod.ts';
import type { RunRecord } from '../training-run/record.ts';
import { type Draft, type Facts, tell } from './draft.ts';
import { currentPods, placeKey, placesOf } from './places.ts';

/** The supervisor ran in every pod of an attempt. From then on a pod without it is no fallback. */
const SUPERVISED = 'SUPERVISED';
/** Found out in a pod: they hold for the rest of the run. */
const FOUND_IN_PODS: readonly (string | null)[] = ['NOEXEC', 'NOT_RUNNABLE'] satisfies RefusalCode[];

/** Notes whether the pods run under the supervisor, and tells once why they do not. */
export function noteSupervision(facts: Facts, draft: Draft): Draft {
  const { job, mode, settings, pods } = facts;
  const { record } = draft;
  if (FOUND_IN_PODS.includes(record.supervision)) return draft;
  const decided = decideSupervision(job, mode, settings.supervision);
  if (decided === null) return noted(draft, null);
  if (decided.kind === 'refused') return refused(draft, decided.reasons);
  if (record.supervision === SUPERVISED) return draft;
  const found = pods.flatMap(({ check }) => (check?.kind === 'refused' ? [check.reason] : []))[0];
  if (found !== undefined) return refused(draft, [found]);
  const current = currentPods(job, record, pods);
  const supervised = placesOf(job).filter(({ replica, index }) => decided.optionsFor(replica.role, index) !== null);
  const isRunning = supervised.every(
    ({ replica, index }) => current.get(placeKey({ role: replica.role, index }))?.check?.kind === 'passed',
  );
  return isRunning ? noted(draft, SUPERVISED) : draft;
}

function noted(draft: Draft, supervision: string | null): Draft {
  return draft.record.supervision === supervision ? draft : { ...draft, record: { ...draft.record, supervision } };
}

function refused(draft: Draft, reasons: readonly Refusal[]): Draft {
  const codes = [...new Set(reasons.map(({ code }) => code))].join(',');
  if (draft.record.supervision === codes) return draft;
  return tell(noted(draft, codes), codes === 'ALREADY_SUPERVISED' ? 'Normal' : 'Warning', 'Unsupervised', refusalText(reasons));
}

/** The pod under the supervisor, or the same pod where it runs without one. */
export function underSupervisor(
  { job, mode, settings }: Facts,
  { supervision, attempt }: RunRecord,
  { replica, index }: Place,
  pod: NewObject,
): NewObject {
  const decided = FOUND_IN_PODS.includes(supervision) ? null : decideSupervision(job, mode, settings.supervision);
  const options = decided?.kind === 'supervised' ? decided.optionsFor(replica.role, index) : null;
  if (decided?.kind !== 'supervised' || options === null) return pod;
  const { container } = job.kind;
  return supervisedPod(pod, { container, image: decided.image, options, attempt, isRequired: supervision === SUPERVISED });
}
