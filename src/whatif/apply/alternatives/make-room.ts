import { NO_COST } from '../../loss/cost.ts';
import { at, numberAt, textAt } from '../../../kube/objects/fields.ts';
import { mostCommon } from './most-common.ts';
import type { Alternative, Asked } from './alternative.ts';

/** Lets the operator ask the victims to save and leave, where it looks after all of them. */
export function makeRoom(asked: Asked): readonly Alternative[] {
  const { world, main } = asked;
  const { stopped } = main;
  if (!world.hasOperator || stopped.length === 0 || !stopped.every((gang) => world.losses.isSupervised(gang))) return [];
  const losses = stopped.map((gang) => world.losses.of(gang));
  const isKnown = losses.every(({ restartSeconds, saveSeconds }) => restartSeconds !== null && saveSeconds !== null);
  const seconds = losses.reduce(
    (sum, { accelerators, restartSeconds, saveSeconds }) => sum + accelerators * ((restartSeconds ?? 0) + (saveSeconds ?? 0)),
    0,
  );
  return [
    {
      kind: 'make-room',
      title: 'have the gang save first, then leave',
      change: [`${asked.template}metadata.annotations: {holdfast.dev/make-room: "true"}`, ...waitingClass(asked)],
      cost: { acceleratorSeconds: isKnown ? seconds : null, worst: seconds },
      stops: stopped.map(({ title }) => title),
      isAtOnce: false,
    },
  ];
}

/** Lets the pods wait for room instead of evicting. */
export function neverEvict(asked: Asked): readonly Alternative[] {
  return [
    { kind: 'never-evict', title: 'wait until there is room', change: waitingClass(asked), cost: NO_COST, stops: [], isAtOnce: false },
  ];
}

/**
 * The class that the pods need. The fields of a class are immutable, and a pod may not contradict
 * its class, so that this takes a class of its own unless there is one.
 */
function waitingClass({ world: { objects }, pods, template }: Asked): readonly string[] {
  const value = mostCommon(pods.map(({ priority }) => priority)) ?? 0;
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
