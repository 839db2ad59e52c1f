import { actionFor, type EndAction, isStronger } from '../../domain/gang/end-action.ts';
import type { PodEnd } from '../../domain/gang/pod-end.ts';
import type { Place, TrainingJob } from '../kinds/kind.ts';
import { replicaName } from '../kinds/names.ts';
import type { RunRecord } from '../training-run/record.ts';
import type { Facts } from './draft.ts';
import type { ObservedPod } from './observed-pod.ts';
import { currentPods, placeKey, wantedPlaces } from './places.ts';

/** A place of the current attempt whose pod is lost. */
export interface Loss {
  readonly place: Place;
  /** Null: it vanished unseen. */
  readonly pod: ObservedPod | null;
  readonly end: PodEnd;
  readonly action: Exclude<EndAction, 'stay' | 'succeed'>;
}

const VANISHED: PodEnd = { class: 'interrupted', cause: 'POD_DELETED', exitCode: null };

/** The lost pods of the current attempt, the one that decides first. */
export function lossesOf(facts: Facts, record: RunRecord): readonly Loss[] {
  const pods = currentPods(facts.job, record, facts.pods);
  return wantedPlaces(facts.job, record)
    .flatMap((place) => lossAt({ job: facts.job, record, pods }, place))
    .toSorted((a, b) => (a.action === b.action ? endMs(a) - endMs(b) : isStronger(a.action, b.action) ? -1 : 1));
}

/**
 * Whether the others train on without the pod, and nothing replaces it: a dynamic worker that never
 * restarts, and has failed. A worker that decides the success fails the job, which could never end.
 */
export function isDispensable(job: TrainingJob, { replica, index }: Place, end: PodEnd): boolean {
  if (!job.hasDynamicWorkers || replica.role !== 'Worker' || replica.policy !== 'Never') return false;
  const rule = job.kind.successRule(job);
  const decides = rule?.role === replica.role && (rule.needs === 'all' || index === 0);
  return !decides && actionFor('Never', end.class) === 'fail';
}

/**
 * Whether the whole attempt ends with the pod. A lost pod is replaced alone where its role is
 * beside the gang, or where the job has none.
 */
export function endsAttempt({ job, mode }: Pick<Facts, 'job' | 'mode'>, { place }: Pick<Loss, 'place'>): boolean {
  const isAlone = mode === 'replica' || job.kind.asideRoles.includes(place.replica.role);
  return !isAlone || isRendezvousHost(job, place);
}

/** Elastic workers meet at one host: without it the others cannot form again. */
export function isRendezvousHost(job: TrainingJob, { replica, index }: Place): boolean {
  if (job.elastic === null || replica.role !== 'Worker') return false;
  return (job.elastic.host ?? replicaName(job, 'Worker', 0)) === replicaName(job, 'Worker', index);
}

interface Subject {
  readonly job: TrainingJob;
  readonly record: RunRecord;
  readonly pods: ReadonlyMap<string, ObservedPod>;
}

function lossAt({ job, record, pods }: Subject, place: Place): readonly Loss[] {
  const { replica, index } = place;
  const pod = pods.get(placeKey({ role: replica.role, index })) ?? null;
  const isReplaced = record.replacing.some(
    (each) => each.role === replica.role && each.index === index && (pod === null || each.uid === pod.uid),
  );
  if (isReplaced || (pod !== null && record.scaledDown.includes(pod.uid))) return [];
  if (pod === null && index >= (record.seen[replica.role] ?? 0)) return [];
  const end = pod?.end ?? VANISHED;
  const action = actionFor(replica.policy, end.class);
  if (action === 'stay' || action === 'succeed' || isDispensable(job, place, end)) return [];
  return [{ place, pod, end, action }];
}

/** The name of the pod that is lost, also of one that vanished. */
export function lostName({ job }: Pick<Facts, 'job'>, { place }: Loss): string {
  return replicaName(job, place.replica.role, place.index);
}

/** A pod whose end has no time comes last: it is the one that the others ended for. */
function endMs({ pod }: Loss): number {
  return pod?.ended?.finishedMs ?? Number.MAX_SAFE_INTEGER;
}
