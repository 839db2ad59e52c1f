import { goldenSection } from './golden-section.ts';
import { lambertW0 } from './lambert-w.ts';

/**
 * The costs that decide how much work to do between two checkpoints. All times use one unit, and
 * interruptions arrive at random (Poisson). A restart can itself be interrupted. `wallPerWork` of a
 * plan is the wall time per unit of work; the overhead is that minus one.
 */
export interface Costs {
  /** How long the trainer stands still for one checkpoint. */
  readonly save: number;
  /** The mean time between interruptions of the run. */
  readonly between: number;
  /** The time from an interruption until training continues. */
  readonly restart: number;
  /** A wait that cannot be interrupted, such as for capacity; 0 when there is none. */
  readonly wait?: number;
}

/** The interval by Young, first order. */
export function youngInterval({ save, between }: Costs): number {
  return Math.sqrt(2 * save * between);
}

/** The interval by Daly, first order. */
export function dalyInterval({ save, between, restart }: Costs): number {
  return Math.sqrt(2 * save * (between + restart)) - save;
}

/** The interval by Daly, higher order. */
export function dalyHigherOrderInterval({ save, between }: Costs): number {
  if (save >= 2 * between) return between;
  const ratio = save / (2 * between);
  return Math.sqrt(2 * save * between) * (1 + Math.sqrt(ratio) / 3 + ratio / 9) - save;
}

/** The exact optimum; restarts and waiting do not change it. */
export function exactInterval({ save, between }: Pick<Costs, 'save' | 'between'>): number {
  return between * (1 + lambertW0(-Math.exp(-(1 + save / between))));
}

/** The period (work and save) with the best availability. */
export function availabilityPeriod({ save, between, restart }: Costs): number {
  return save + Math.sqrt(2 * (between + restart) * save + save * save);
}

/** The period (work and save) with the least waste, first order. */
export function leastWastePeriod({ save, between, restart, wait = 0 }: Costs): number {
  return Math.sqrt(2 * Math.max(0, between - wait - restart) * save);
}

/** The exact wall time per unit of work. */
export function wallPerWork(interval: number, { save, between, restart, wait = 0 }: Costs): number {
  return (Math.exp(restart / between) * (between + wait) * Math.expm1((interval + save) / between)) / interval;
}

/** A flush: the probability that it saves the work of an interruption, and its duration. */
export interface FlushChance {
  /** Between 0 and 1. */
  readonly probability: number;
  readonly flush: number;
}

/** The first-order interval with flushes; infinite when every interruption is survived. */
export function youngIntervalWithFlush(costs: Costs, { probability }: FlushChance): number {
  return Math.sqrt((2 * costs.save * costs.between) / (1 - probability));
}

/**
 * The exact wall time per unit of work when a flush survives some interruptions. A flush also
 * restarts the interval.
 */
export function wallPerWorkWithFlush(interval: number, costs: Costs, { probability, flush }: FlushChance): number {
  const { save, between, restart, wait = 0 } = costs;
  const lost = Math.exp(restart / between) * (between + wait) - between;
  // Computed directly, because this is close to 0 when little is lost. One minus its complement
  // would round too coarsely to find the optimum.
  const interrupted = -Math.expm1(-(interval + save) / between);
  const progress = (1 - probability) * interval * (1 - interrupted) - probability * between * Math.expm1(-interval / between);
  return (interrupted * (between + lost + probability * flush)) / progress;
}

/** The exact optimum with flushes; infinite when every flush succeeds. */
export function exactIntervalWithFlush(costs: Costs, chance: FlushChance): number {
  if (chance.probability >= 1) return Number.POSITIVE_INFINITY;
  if (chance.probability <= 0) return exactInterval(costs);
  const guess = Math.log(youngIntervalWithFlush(costs, chance));
  return Math.exp(goldenSection((log) => wallPerWorkWithFlush(Math.exp(log), costs, chance), [guess - 4, guess + 4]));
}

/** A save that continues behind the trainer. */
export interface AsyncSave {
  /** How long the trainer stands still. */
  readonly stall: number;
  /** The time until it is durable, behind the trainer; one save at a time. */
  readonly persist: number;
  /** The part by which the trainer is slower meanwhile, between 0 and 1. */
  readonly slowdown: number;
}

/** The time that an asynchronous save costs the trainer. */
export function asyncCost({ stall, persist, slowdown }: AsyncSave): number {
  return stall + slowdown * persist;
}

/** The exact optimum for asynchronous saves; one save must end before the next begins. */
export function asyncInterval(save: AsyncSave, between: number): number {
  const cost = asyncCost(save);
  return Math.max(exactInterval({ save: cost, between }), save.persist - cost);
}

/**
 * The wall time per unit of work with asynchronous saves. The durable state lags behind by the time
 * to persist it.
 */
export function asyncWallPerWork(interval: number, save: AsyncSave, costs: Omit<Costs, 'save'>): number {
  return wallPerWork(interval, { ...costs, save: asyncCost(save) }) * Math.exp(save.persist / costs.between);
}

/**
 * The whole number of steps next to the best interval. It evaluates both neighbours and takes the
 * cheaper one, at least one step.
 */
export function quantiseToSteps(interval: number, step: number, cost: (interval: number) => number): number {
  const below = Math.max(1, Math.floor(interval / step));
  return cost(below * step) <= cost((below + 1) * step) ? below : below + 1;
}
