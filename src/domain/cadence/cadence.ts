import { formatDuration, parseDuration } from '../../core/duration.ts';
import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt } from '../../core/printable.ts';
import {
  asyncCost,
  type AsyncSave,
  type Costs,
  exactIntervalWithFlush,
  type FlushChance,
  quantiseToSteps,
  wallPerWorkWithFlush,
} from './checkpoint-interval.ts';
import { provenRate } from './quantiles.ts';

/** How often to save: as the user set it, or as measured. */
export type Cadence =
  | { readonly kind: 'time'; readonly everyMs: number }
  | { readonly kind: 'steps'; readonly everySteps: number }
  | { readonly kind: 'auto' };

/** The measurements that the automatic cadence uses, over all attempts of the run. */
export interface CadenceMeasurements {
  /** The times of a save: the stall, and the part behind the trainer (0 when there is none). */
  readonly save: AsyncSave | null;
  /** The mean time of one step; null while it is unknown. */
  readonly stepMs: number | null;
  readonly interruptions: number;
  /** How long the run has been up in total. */
  readonly upMs: number;
  /** The measured time from an interruption until training continues. */
  readonly restartMs: number | null;
  /**
   * The interruptions whose work a flush saved. All others (no notice, too late, failed) count
   * against the flush.
   */
  readonly flushed: number;
  readonly flushMs: number;
}

/** The current cadence and the reason for it. */
export interface CadencePlan {
  readonly everyMs: number;
  /** The same interval in whole steps, when the time of a step is known. */
  readonly everySteps: number | null;
  /**
   * The expected overhead: 0.03 means 3 % more wall time than work; null when nothing is measured.
   */
  readonly overhead: number | null;
  readonly sentence: string;
}

/**
 * The interval before any save was measured. It is short, so that the cost is known before the
 * first interruption.
 */
const UNMEASURED_EVERY_MS = 60_000;
/** A first save may stall the trainer for this part of the time that it has trained. */
const FIRST_STALL_SHARE = 0.02;
/**
 * The assumed interruption rate of a run that has seen none: one in this time. A guess that is
 * wrong by a factor of four costs little.
 */
const ASSUMED_UP_MS = 4 * 3_600_000;
const ASSUMED_RESTART_MS = 120_000;
const SHORTEST_MS = 10_000;
/** The longest interval, however rare interruptions are, because longer ones are untested. */
const LONGEST_MS = 4 * 3_600_000;
/**
 * A new interval must save at least this part of the overhead. The optimum is flat, so small
 * changes are not worth making.
 */
const WORTH_A_CHANGE = 0.02;

/** Reads `10m`, `500steps` or `auto`. */
export function parseCadence(text: string): Parsed<Cadence> {
  if (text.trim() === 'auto') return parsed({ kind: 'auto' });
  const steps = /^(\d{1,12}) ?steps?$/.exec(text.trim());
  if (steps !== null) {
    const everySteps = Number(steps[1]);
    return everySteps > 0 ? parsed({ kind: 'steps', everySteps }) : refused('a cadence must have at least one step');
  }
  const time = parseDuration(text);
  if (time.ok) return time.value > 0 ? parsed({ kind: 'time', everyMs: time.value }) : refused('a cadence must be longer than zero');
  if (!/^\d+$/.test(text.trim())) return refused(`"${excerpt(text, 40)}" is not a cadence: 10m, 500steps or auto`);
  return refused(`"${excerpt(text, 40)}" has no unit: 10m, 500steps or auto`);
}

/**
 * Computes the plan from the setting and the measurements. `current` is kept while a better plan
 * saves almost nothing.
 */
export function planCadence(cadence: Cadence, measured: CadenceMeasurements, current: CadencePlan | null = null): CadencePlan {
  switch (cadence.kind) {
    case 'time':
      return fixed(cadence.everyMs, measured, `every ${formatDuration(cadence.everyMs)}, as asked`);
    case 'steps':
      return inSteps(cadence.everySteps, measured);
    case 'auto':
      return measured.save === null ? fixed(UNMEASURED_EVERY_MS, measured, beforeMeasuring()) : automatic(measured.save, measured, current);
  }
}

/**
 * Returns the time from the first step to the first save of a run with an automatic cadence. It is
 * a minute, or longer for a save that is known to stall the trainer. The stall is then only a small
 * part of the time trained.
 */
export function firstSaveMs(stallMs: number | null): number {
  return Math.max(UNMEASURED_EVERY_MS, (stallMs ?? 0) / FIRST_STALL_SHARE);
}

/**
 * The mean time between interruptions: those seen, plus one assumed in four hours. A run without
 * interruptions is thus not taken for immortal.
 */
export function meanBetweenInterruptions({ interruptions, upMs }: Pick<CadenceMeasurements, 'interruptions' | 'upMs'>): number {
  return (ASSUMED_UP_MS + upMs) / (1 + interruptions);
}

function automatic(save: AsyncSave, measured: CadenceMeasurements, current: CadencePlan | null): CadencePlan {
  const costs: Costs = {
    // The optimum for a save without cost is no pause at all, so the cost has a lower bound.
    save: Math.max(1, asyncCost(save)),
    between: meanBetweenInterruptions(measured),
    restart: measured.restartMs ?? ASSUMED_RESTART_MS,
  };
  const chance: FlushChance = { probability: provenRate(measured.flushed, measured.interruptions), flush: measured.flushMs };
  const cost = (interval: number): number => wallPerWorkWithFlush(interval, costs, chance) * Math.exp(save.persist / costs.between);
  const best = Math.max(exactIntervalWithFlush(costs, chance), save.persist - costs.save);
  const everyMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, best));
  if (current !== null && cost(current.everyMs) - cost(everyMs) <= WORTH_A_CHANGE * (cost(everyMs) - 1)) {
    if (current.everyMs >= save.persist) return { ...current, overhead: cost(current.everyMs) - 1 };
  }
  const { stepMs } = measured;
  const everySteps = stepMs === null || stepMs <= 0 ? null : quantiseToSteps(everyMs, stepMs, cost);
  const chosen = everySteps === null || stepMs === null ? everyMs : everySteps * stepMs;
  return { everyMs: chosen, everySteps, overhead: cost(chosen) - 1, sentence: explain(chosen, costs, chance, measured) };
}

function explain(
  everyMs: number,
  { save, between }: Costs,
  { probability }: FlushChance,
  { interruptions, flushed }: CadenceMeasurements,
): string {
  const flushes =
    interruptions === 0
      ? 'no interruption yet, so Holdfast assumes that none will be flushed'
      : `${flushed} of ${interruptions} interruptions were flushed, which proves ${Math.floor(100 * probability)} %`;
  return `every ${formatDuration(everyMs)}: a save costs ${formatDuration(save)}, an interruption comes every ${formatDuration(between)}, ${flushes}`;
}

function fixed(everyMs: number, { stepMs }: CadenceMeasurements, sentence: string): CadencePlan {
  const everySteps = stepMs === null || stepMs <= 0 ? null : Math.max(1, Math.round(everyMs / stepMs));
  return { everyMs, everySteps, overhead: null, sentence };
}

function inSteps(everySteps: number, { stepMs }: CadenceMeasurements): CadencePlan {
  const everyMs = stepMs === null ? Number.POSITIVE_INFINITY : everySteps * stepMs;
  return { everyMs, everySteps, overhead: null, sentence: `every ${everySteps} steps, as asked` };
}

function beforeMeasuring(): string {
  return `every ${formatDuration(UNMEASURED_EVERY_MS)} until the first save was timed`;
}
