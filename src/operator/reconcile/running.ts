import { leaderOf } from '../kinds/parse-job.ts';
import { condition, type Draft, type Facts, phase } from './draft.ts';
import { isDispensable } from './loss.ts';
import type { ObservedPod } from './observed-pod.ts';
import { currentPods, placeKey, placesOf, wantedPlaces } from './places.ts';

/**
 * Marks the job as running while the whole gang runs; an elastic job, while enough workers do. The
 * annotation `holdfast.dev/running: v1` asks for v1's meaning: one deciding pod runs.
 */
export function noteRunning(facts: Facts, draft: Draft): Draft {
  const { job } = facts;
  const pods = currentPods(job, draft.record, facts.pods);
  const isRunning = job.choices.isRunningLikeV1 ? runsForV1(facts, pods) : runsAsGang(facts, pods);
  if (!isRunning) return noteStarting(facts, draft, pods);
  const message = job.kind.messages.running(job);
  return phase(condition(facts, draft, { type: 'Running', message }), 'Running', message);
}

function noteStarting(facts: Facts, draft: Draft, pods: ReadonlyMap<string, ObservedPod>): Draft {
  if (facts.trouble !== null) return phase(draft, 'Starting', `its pods cannot be created: ${facts.trouble}`);
  if (pods.size === 0) return draft;
  const total = wantedPlaces(facts.job, draft.record).length;
  const waiting = total - [...pods.values()].filter(runs).length;
  return phase(draft, draft.record.replacing.length > 0 ? 'Restarting' : 'Starting', `${waiting} of ${total} pods do not run yet`);
}

function runsForV1({ job }: Facts, pods: ReadonlyMap<string, ObservedPod>): boolean {
  const role = leaderOf(job)?.role ?? 'Worker';
  return [...pods.values()].some((pod) => pod.role === role && runs(pod));
}

function runsAsGang({ job }: Facts, pods: ReadonlyMap<string, ObservedPod>): boolean {
  const places = placesOf(job).filter((place) => {
    const pod = pods.get(placeKey({ role: place.replica.role, index: place.index }));
    const isGoneForGood = pod !== undefined && isDispensable(job, place, pod.end);
    return !isGoneForGood && !job.kind.asideRoles.includes(place.replica.role);
  });
  const isUp = ({ role, index }: { readonly role: string; readonly index: number }): boolean => {
    const pod = pods.get(placeKey({ role, index }));
    return pod !== undefined && (runs(pod) || pod.end.class === 'finished');
  };
  const up = places.filter(({ replica, index }) => isUp({ role: replica.role, index }));
  const isAlive = [...pods.values()].some(runs);
  if (job.elastic === null) return isAlive && up.length === places.length;
  const workers = up.filter(({ replica }) => replica.role === 'Worker').length;
  const others = places.filter(({ replica }) => replica.role !== 'Worker').length;
  return isAlive && workers >= job.elastic.min && up.length - workers === others;
}

function runs({ phase: name, isTerminating }: ObservedPod): boolean {
  return name === 'Running' && !isTerminating;
}
