import type { SchedulerPod } from '../../../scheduler/objects/pod.ts';
import { selects } from '../../../scheduler/objects/selector.ts';
import type { Gang } from '../../gangs/gang.ts';
import { podKey } from '../../gangs/gang.ts';
import { someOf } from '../../world/note.ts';
import type { Audited, Class, Risk, Rule } from '../risk.ts';
import { costOf } from '../../loss/cost.ts';

/** Finds training that pods of a higher class may evict, the one that would cost most now first. */
export const trainingEvictable: Rule = (audited) =>
  byMost(trainingOf(audited), ({ gang }) => costOf(audited.world, [gang]).worst).flatMap(({ gang, priority }): readonly Risk[] => {
    const above = evicters(audited, priority);
    if (above.length === 0) return [];
    const { acceleratorSeconds, worst } = costOf(audited.world, [gang]);
    const lost =
      acceleratorSeconds === null
        ? Number.isFinite(worst)
          ? `unknown, at most ${hours(worst)} GPU-hours`
          : 'unknown'
        : `${hours(acceleratorSeconds)} GPU-hours`;
    return [
      {
        code: 'TRAINING_EVICTABLE',
        subject: gang.title,
        evidence: `pods of ${classNames(above)} may evict it (priority ${priority}); lost now: ${lost}`,
        fix: `give ${above.length === 1 ? 'that class' : 'these classes'} preemptionPolicy Never, or have the gang make room: holdfast.dev/make-room`,
      },
    ];
  });

/** Finds gangs where the eviction of one pod stops several, the largest first. */
export const gangStopsWithOne: Rule = (audited) =>
  byMost(trainingOf(audited), ({ gang }) => audited.world.losses.of(gang).accelerators).flatMap(({ gang, priority }): readonly Risk[] => {
    if (gang.pods.length < 2 || evicters(audited, priority).length === 0) return [];
    const { accelerators } = audited.world.losses.of(gang);
    return [
      {
        code: 'GANG_STOPS_WITH_ONE',
        subject: gang.title,
        evidence: `one eviction stops ${gang.pods.length} pods with ${accelerators} accelerators`,
        fix: audited.world.losses.isSupervised(gang)
          ? 'save more often, or raise its class'
          : 'run it under holdfast run with the operator, so that it saves before it leaves',
      },
    ];
  });

function byMost<T>(items: readonly T[], of: (item: T) => number): readonly T[] {
  // Not by difference: two infinite amounts have none.
  return items.toSorted((one, other) => (of(one) === of(other) ? 0 : of(one) > of(other) ? -1 : 1));
}

/** Finds services with accelerators that are less important than training. */
export const serviceBelowTraining: Rule = (audited) => {
  const training = trainingOf(audited);
  return audited.world.gangs.all.flatMap((gang): readonly Risk[] => {
    if (!gang.isService || audited.world.losses.of(gang).accelerators === 0) return [];
    const own = priorityOf(audited, gang);
    const above = training.filter(({ priority }) => priority > own);
    if (above.length === 0) return [];
    return [
      {
        code: 'SERVICE_BELOW_TRAINING',
        subject: gang.title,
        evidence: `its priority ${own} is below that of ${someOf(
          above.map(({ gang: { title } }) => title),
          2,
        )}`,
        fix: 'give the service a class with a higher value than that of training',
      },
    ];
  });
};

/** Finds budgets over pods that a higher class may evict all the same. */
export const budgetNotProtecting: Rule = (audited) =>
  audited.world.input.budgets.flatMap(({ namespace, name, selector }): readonly Risk[] => {
    const covered = placedPods(audited).filter((pod) => pod.namespace === namespace && selects(selector, pod.labels));
    if (covered.length === 0) return [];
    const least = covered.reduce((found, { priority }) => Math.min(found, priority), Number.POSITIVE_INFINITY);
    const above = evicters(audited, least);
    if (above.length === 0) return [];
    return [
      {
        code: 'BUDGET_NOT_PROTECTING',
        subject: `poddisruptionbudget/${name} in ${namespace}`,
        evidence: `preemption by ${classNames(above)} may break it: it covers ${covered.length} ${covered.length === 1 ? 'pod' : 'pods'} from priority ${least} up`,
        fix: 'raise the class of its pods, or give the classes above them preemptionPolicy Never',
      },
    ];
  });

function trainingOf({ world }: Audited): readonly { readonly gang: Gang; readonly priority: number }[] {
  const gangs = world.gangs.all.filter((gang) => !gang.isService && world.losses.of(gang).accelerators > 0);
  return gangs.map((gang) => ({ gang, priority: priorityOf({ world }, gang) }));
}

/** A gang is as safe as its least important pod. */
function priorityOf({ world }: Pick<Audited, 'world'>, { pods }: Gang): number {
  const keys = new Set(pods.map(podKey));
  const own = world.input.pods.filter(({ key }) => keys.has(key));
  return own.reduce((least, { priority }) => Math.min(least, priority), Number.POSITIVE_INFINITY);
}

function evicters({ classes }: Audited, priority: number): readonly Class[] {
  return classes.filter(({ name, value, policy }) => value > priority && policy !== 'Never' && !name.startsWith('system-'));
}

function placedPods({ world }: Audited): readonly SchedulerPod[] {
  return world.input.pods.filter(({ isOver, nodeName }) => !isOver && nodeName !== null);
}

function classNames(classes: readonly Class[]): string {
  return someOf(
    classes.map(({ name, value }) => `${name} (${value})`),
    3,
  );
}

function hours(acceleratorSeconds: number): number {
  return Number((acceleratorSeconds / 3600).toPrecision(2));
}
