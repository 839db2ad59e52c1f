import { isCleanedUp } from '../../domain/gang/clean-pods.ts';
import type { Place } from '../kinds/kind.ts';
import { replicaName } from '../kinds/names.ts';
import { nativeGroupName } from '../kinds/native-gang.ts';
import { type Machines, podFor } from '../kinds/pod.ts';
import { serviceFor } from '../kinds/service.ts';
import { currentAttempt, type RunRecord } from '../training-run/record.ts';
import type { Facts, Plan, PodDeletion } from './draft.ts';
import type { ObservedPod } from './observed-pod.ts';
import { endedLate } from './late-start.ts';
import { deletionOf } from './lost-nodes.ts';
import { avoidedBy, isAt, keyAt, olderPods, placeKey, placesGivenUp, placesOf, wantedPlaces } from './places.ts';
import { underSupervisor } from './supervision.ts';

/** The writes to pods and Services. */
export type Changes = Pick<Plan, 'deletePods' | 'createPods' | 'createServices' | 'deleteServices'>;

/** Nothing of a suspended job stays. */
export function changesWhenSuspended(facts: Facts): Changes {
  const { pods, services } = facts;
  return { deletePods: pods.flatMap((pod) => deletionOf(facts, pod)), createPods: [], createServices: [], deleteServices: services };
}

/**
 * Of a finished job the pods stay that its policy keeps, each with its Service. Those that waited
 * in vain for another one free their machines.
 */
export function changesWhenFinished(facts: Facts, record: RunRecord): Changes {
  const { job, pods, services } = facts;
  const { cleanPods } = job.run;
  const policy = cleanPods === 'None' && endedLate(facts, record) ? 'Running' : cleanPods;
  const gone = pods.filter(({ phase }) => isCleanedUp(policy, phase));
  const names = new Set(gone.map(({ name }) => name));
  return {
    deletePods: gone.flatMap((pod) => deletionOf(facts, pod)),
    createPods: [],
    createServices: [],
    deleteServices: services.filter((name) => names.has(name)),
  };
}

/**
 * Of a live job: pods of older attempts go, all at once. The pods of the current attempt are
 * created when the last of them is gone, so that never two attempts run at once.
 */
export function changesWhenLive(facts: Facts, record: RunRecord): Changes {
  const { job, pods, services } = facts;
  const places = placesOf(job);
  const avoided = avoidedBy(facts, record);
  const machines = machinesOf(facts, record);
  const names = new Set(places.map(({ replica, index }) => replicaName(job, replica.role, index)));
  const present = new Set(services);
  const goes = new Set([...record.scaledDown, ...record.replacing.map(({ uid }) => uid)]);
  const isStale = (pod: ObservedPod): boolean => pod.attempt < record.attempt || goes.has(pod.uid);
  return {
    deletePods: pods.filter(isStale).flatMap((pod) => deletionOf(facts, pod)),
    createPods: missingPlaces(facts, record).map((place) => {
      const isAside = job.kind.asideRoles.includes(place.replica.role);
      const isInGang = facts.mode === 'gang' && !isAside;
      const group = isAside ? null : nativeGroupName(job, facts, record.attempt);
      const pod = podFor(job, place, { attempt: record.attempt, isInGang, group, avoided, machines, settings: facts.settings });
      return underSupervisor(facts, record, place, pod);
    }),
    createServices: places
      .filter(({ replica, index }) => !present.has(replicaName(job, replica.role, index)))
      .map((place) => serviceFor(job, place)),
    deleteServices: services.filter((name) => !names.has(name)),
  };
}

/** The pods that an elastic gang gives up to make room; those that go already are left out. */
export function podsToGiveUp(facts: Facts, record: RunRecord): readonly PodDeletion[] {
  if (record.room?.stage !== 'leaving') return [];
  const places = placesGivenUp(facts.job, record);
  return facts.pods.filter((pod) => places.some((place) => isAt(pod, place))).flatMap((pod) => deletionOf(facts, pod));
}

/** The machines that the current attempt was placed on. */
function machinesOf({ cloud }: Facts, record: RunRecord): Machines | null {
  const { placement } = currentAttempt(record);
  return cloud === null || placement === null ? null : { cloud, placement };
}

/** The places whose pods can be created now. */
function missingPlaces({ job, pods, nowMs }: Facts, record: RunRecord): readonly Place[] {
  if (olderPods(record, pods).length > 0) return [];
  if (record.notBefore !== null && Date.parse(record.notBefore) > nowMs) return [];
  const taken = new Set(pods.map(placeKey));
  return wantedPlaces(job, record).filter((place) => {
    const waits = record.replacing.some((each) => isAt(each, place) && Date.parse(each.notBefore) > nowMs);
    return !waits && !taken.has(keyAt(place));
  });
}
