import { goldenSection } from './golden-section.ts';
import { lambertW0 } from './lambert-w.ts';

/**
 * How much work to do between two checkpoints. All times in one unit, whichever; interruptions come at random (Poisson), and a restart can
 * itself be interrupted. `wallPerWork` of a plan is how much longer the run takes than its bare work; its overhead is that less one.
 */
export interface Costs {
  /** The trainer stands still for one checkpoint. */
  readonly save: number;
  /** Mean time between interruptions of the run. */
  readonly between: number;
  /** From an interruption until work goes on. */
  readonly restart: number;
  /** Waiting that cannot be interrupted (for capacity); 0 where there is none. */
  readonly wait?: number;
}

/** Young: first order, the interval alone. */
export function youngInterval({ save, between }: Costs): number {
  return Math.sqrt(2 * save * between);
}

/** Daly, first order. */
export function dalyInterval({ save, between, restart }: Costs): number {
  return Math.sqrt(2 * save * (between + restart)) - save;
}

/** Daly, higher order. */
export function dalyHigherOrderInterval({ save, between }: Costs): number {
  if (save >= 2 * between) return between;
  const ratio = save / (2 * between);
  return Math.sqrt(2 * save * between) * (1 + Math.sqrt(ratio) / 3 + ratio / 9) - save;
}

/** The exact optimum, which neither restarts nor waiting move. */
export function exactInterval({ save, between }: Pick<Costs, 'save' | 'between'>): number {
  return between * (1 + lambertW0(-Math.exp(-(1 + save / between))));
}

/** The period (work and save) that is best for availability. */
export function availabilityPeriod({ save, between, restart }: Costs): number {
  return save + Math.sqrt(2 * (between + restart) * save + save * save);
}

/** The period (work and save) that wastes least, first order. */
export function leastWastePeriod({ save, between, restart, wait = 0 }: Costs): number {
  return Math.sqrt(2 * Math.max(0, between - wait - restart) * save);
}

/** Wall time per unit of work, exactly. */
export function wallPerWork(interval: number, { save, between, restart, wait = 0 }: Costs): number {
  return (Math.exp(restart / between) * (between + wait) * Math.expm1((interval + save) / between)) / interval;
}

/** A flush: how often it saves what an interruption would have cost, and how long it takes. */
export interface FlushChance {
  /** Between 0 and 1. */
  readonly probability: number;
  readonly flush: number;
}

/** First order with flushes; without end when every interruption is survived. */
export function youngIntervalWithFlush(costs: Costs, { probability }: FlushChance): number {
  return Math.sqrt((2 * costs.save * costs.between) / (1 - probability));
}

/** Wall time per unit of work when some interruptions are survived by a flush, which also restarts the interval; exactly. */
export function wallPerWorkWithFlush(interval: number, costs: Costs, { probability, flush }: FlushChance): number {
  const { save, between, restart, wait = 0 } = costs;
  const lost = Math.exp(restart / between) * (between + wait) - between;
  // Where little is lost this is next to 0: one minus its complement would be rounded so coarsely that the optimum is missed.
  const interrupted = -Math.expm1(-(interval + save) / between);
  const progress = (1 - probability) * interval * (1 - interrupted) - probability * between * Math.expm1(-interval / between);
  return (interrupted * (between + lost + probability * flush)) / progress;
}

/** The exact optimum with flushes. At certainty there is none: the longer the better. */
export function exactIntervalWithFlush(costs: Costs, chance: FlushChance): number {
  if (chance.probability >= 1) return Number.POSITIVE_INFINITY;
  if (chance.probability <= 0) return exactInterval(costs);
  const guess = Math.log(youngIntervalWithFlush(costs, chance));
  return Math.exp(goldenSection((log) => wallPerWorkWithFlush(Math.exp(log), costs, chance), [guess - 4, guess + 4]));
}

/** A save that goes on behind the trainer. */
export interface AsyncSave {
  /** The trainer stands still. */
  readonly stall: number;
  /** Until it is durable, behind the trainer; one at a time. */
  readonly persist: number;
  /** By which part the trainer is slower meanwhile, between 0 and 1. */
  readonly slowdown: number;
}

/** What an asynchronous save costs the trainer. */
export function asyncCost({ stall, persist, slowdown }: AsyncSave): number {
  return stall + slowdown * persist;
}

/** The exact optimum for asynchronous saves, of which one must end before the next begins. */
export function asyncInterval(save: AsyncSave, between: number): number {
  const cost = asyncCost(save);
  return Math.max(exactInterval({ save: cost, between }), save.persist - cost);
}

/** Wall time per unit of work with asynchronous saves: what is durable lags behind by the time it takes to persist. */
export function asyncWallPerWork(interval: number, save: AsyncSave, costs: Omit<Costs, 'save'>): number {
  return wallPerWork(interval, { ...costs, save: asyncCost(save) }) * Math.exp(save.persist / costs.between);
}

/** Whole steps next to the best interval: both neighbours are evaluated, and the cheaper taken. Never less than one. */
export function quantiseToSteps(interval: number, step: number, cost: (interval: number) => number): number {
  const below = Math.max(1, Math.floor(interval / step));
  return cost(below * step) <= cost((below + 1) * step) ? below : below + 1;
}
