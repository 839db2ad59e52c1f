import { NO_COST } from '../../loss/cost.ts';
import { at, numberAt, textAt } from '../../../kube/objects/fields.ts';
import { mostCommon } from './most-common.ts';
import { placePod } from '../../../scheduler/place/place.ts';
import { chooseRoom } from '../../../operator/room/choose.ts';
import type { Alternative, Asked } from './alternative.ts';
import { type LeavingGang, leavingGangs } from './leavers.ts';

/** Larger values are for the classes of Kubernetes itself. */
const HIGHEST_OF_USERS = 1_000_000_000;

/** Lets the operator choose gangs that save, and then leave. */
export function makeRoom(asked: Asked): readonly Alternative[] {
  const waiting = waitingClass(asked);
  const leaving = asked.world.hasOperator ? gangsThatLeave(asked) : [];
  if (waiting === null || leaving.length === 0) return [];
  const seconds = leaving.reduce((sum, { cost }) => sum + cost, 0);
  const stops = leaving.map(({ title }) => title);
  return [
    {
      kind: 'make-room',
      title: `have ${stops.join(' and ')} save first, then leave`,
      change: [`${asked.template}metadata.annotations: {holdfast.dev/make-room: "true"}`, ...waiting],
      cost: { acceleratorSeconds: leaving.every(({ isMeasured }) => isMeasured) ? seconds : null, worst: seconds },
      stops,
      isAtOnce: false,
    },
  ];
}

/** The gangs that the operator chooses, pod after pod; none if a pod would find no room. */
function gangsThatLeave({ world, cluster, pods }: Asked): readonly LeavingGang[] {
  const now = cluster.copy();
  let left = leavingGangs(world, now);
  const found: LeavingGang[] = [];
  for (const pod of pods) {
    const { node } = placePod(now, pod);
    const choice = node === null ? chooseRoom(now, pod, left, NOT_BUSY) : null;
    if (choice !== null && choice.kind !== 'chosen') return [];
    const leaving = choice?.leaving.map(({ leaver }) => leaver) ?? [];
    for (const key of leaving.flatMap((gang) => gang.pods)) now.remove(key);
    left = left.filter((gang) => !leaving.includes(gang));
    found.push(...leaving);
    now.add(pod, node ?? choice?.node ?? '');
  }
  return found;
}

/** Each pod has its node before room is made for the next. */
const NOT_BUSY: ReadonlySet<string> = new Set();

/** Lets the pods wait for room instead of evicting. */
export function neverEvict(asked: Asked): readonly Alternative[] {
  const change = waitingClass(asked);
  if (change === null) return [];
  return [{ kind: 'never-evict', title: 'wait until there is room', change, cost: NO_COST, stops: [], isAtOnce: false }];
}

/**
 * The class that the pods need. The fields of a class are immutable, and a pod may not contradict
 * its class, so that this takes a class of its own unless there is one. Null: nobody may create one
 * of that value.
 */
function waitingClass({ world: { objects }, pods, template }: Asked): readonly string[] | null {
  const value = mostCommon(pods.map(({ priority }) => priority)) ?? 0;
  if (value > HIGHEST_OF_USERS) return null;
  const fits = objects.find(
    ({ kind, fields }) => kind === 'PriorityClass' && numberAt(fields, 'value') === value && textAt(fields, 'preemptionPolicy') === 'Never',
  );
  if (fits !== undefined) return [`${template}spec.priorityClassName: ${fits.name}`];
  const own = objects.find(
    ({ kind, fields }) => kind === 'PriorityClass' && numberAt(fields, 'value') === value && at(fields, 'globalDefault') !== true,
  );
  const name = `${own?.name ?? `priority-${value}`}-waits`;
  return [`kubectl create priorityclass ${name} --value=${value} --preemption-policy=Never`, `${template}spec.priorityClassName: ${name}`];
}
