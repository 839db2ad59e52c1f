import { type Avoided, avoidedPlaces } from '../../domain/gang/avoidance.ts';
import type { Place, TrainingJob } from '../kinds/kind.ts';
import { replicaName } from '../kinds/names.ts';
import type { RunRecord } from '../training-run/record.ts';
import type { Facts } from './draft.ts';
import type { ObservedPod } from './observed-pod.ts';

/** Every place of a job that a pod belongs to. */
export function placesOf(job: TrainingJob): readonly Place[] {
  return job.replicas.flatMap((replica) => Array.from({ length: replica.count }, (_, index) => ({ replica, index })));
}

/** The places whose pods an elastic gang has given up to make room, until they come back. */
export function placesGivenUp(job: TrainingJob, { room }: Pick<RunRecord, 'room'>): readonly Place[] {
  if (room === null || room.pods === null || (room.stage !== 'leaving' && room.stage !== 'away')) return [];
  const names = new Set(room.pods);
  return placesOf(job).filter(({ replica, index }) => names.has(replicaName(job, replica.role, index)));
}

/** The places that have a pod now, or get one. */
export function wantedPlaces(job: TrainingJob, record: Pick<RunRecord, 'room'>): readonly Place[] {
  const givenUp = new Set(placesGivenUp(job, record).map(keyAt));
  return placesOf(job).filter((place) => !givenUp.has(keyAt(place)));
}

/** Whether the pod is at this place. */
export function isAt({ role, index }: { readonly role: string; readonly index: number }, place: Place): boolean {
  return role === place.replica.role && index === place.index;
}

/** The key of a place: `Worker/0`. */
export function placeKey({ role, index }: { readonly role: string; readonly index: number }): string {
  return `${role}/${index}`;
}

/** The key of the place of a replica, as {@link placeKey} has it. */
export function keyAt({ replica, index }: Place): string {
  return placeKey({ role: replica.role, index });
}

/** The pods of the current attempt that stand at a place of the job, by their place. */
export function currentPods(job: TrainingJob, record: RunRecord, pods: readonly ObservedPod[]): ReadonlyMap<string, ObservedPod> {
  const keys = new Set(placesOf(job).map(keyAt));
  const current = pods.filter((pod) => pod.attempt === record.attempt && keys.has(placeKey(pod)));
  return new Map(current.map((pod) => [placeKey(pod), pod]));
}

/** The pods that belong to an attempt before the current one. */
export function olderPods(record: RunRecord, pods: readonly ObservedPod[]): readonly ObservedPod[] {
  return pods.filter(({ attempt }) => attempt < record.attempt);
}

/** Where the pods of the current attempt should rather not go, after the ends of those before. */
export function avoidedBy({ nowMs }: Pick<Facts, 'nowMs'>, { attempts }: RunRecord): Avoided {
  const ends = attempts.flatMap(({ end, detectedAt }) =>
    end === null || detectedAt === null ? [] : [{ cause: end.cause, node: end.node, zone: end.zone, endedMs: Date.parse(detectedAt) }],
  );
  return avoidedPlaces(ends, nowMs);
}
