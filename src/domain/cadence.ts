import { formatDuration, parseDuration } from '../core/duration.ts';
import { type Parsed, parsed, refused } from '../core/parsed.ts';
import { excerpt } from '../core/printable.ts';
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

/** How often to save: as the user says, or by what is measured. */
export type Cadence =
  | { readonly kind: 'time'; readonly everyMs: number }
  | { readonly kind: 'steps'; readonly everySteps: number }
  | { readonly kind: 'auto' };

/** What the automatic cadence is computed from; all of it measured in this run, over all its attempts. */
export interface CadenceMeasurements {
  /** Times of a save: the stall, and what goes on behind the trainer (0 where nothing does). */
  readonly save: AsyncSave | null;
  /** Mean time of one step; null while nobody knows. */
  readonly stepMs: number | null;
  readonly interruptions: number;
  /** How long the run has been up in all. */
  readonly upMs: number;
  /** From an interruption until work goes on, as measured. */
  readonly restartMs: number | null;
  /** Of the interruptions, those whose work a flush saved; everything else (no notice, too late, failed) counts against it. */
  readonly flushed: number;
  readonly flushMs: number;
}

/** What the cadence is now, and why. */
export interface CadencePlan {
  readonly everyMs: number;
  /** The same in whole steps, where the time of a step is known. */
  readonly everySteps: number | null;
  /** Expected overhead: 0.03 means 3 % more wall time than work; null where nothing is measured. */
  readonly overhead: number | null;
  readonly sentence: string;
}

/** Before anything was measured: soon, so that it is known what a save costs before the first interruption comes. */
const UNMEASURED_EVERY_MS = 60_000;
/** What is assumed about interruptions before the run has seen any: one, in this time. A wrong guess by four costs little. */
const ASSUMED_UP_MS = 4 * 3_600_000;
const ASSUMED_RESTART_MS = 120_000;
const SHORTEST_MS = 10_000;
/** However rare interruptions are: what nobody has tested for longer than this is not trusted. */
const LONGEST_MS = 4 * 3_600_000;
/** A new interval must promise at least this part of the overhead; the optimum is flat, and a cadence that wavers helps nobody. */
const WORTH_A_CHANGE = 0.02;

/** Reads `10m`, `500steps` or `auto`. */
export function parseCadence(text: string): Parsed<Cadence> {
  if (text.trim() === 'auto') return parsed({ kind: 'auto' });
  const steps = /^(\d{1,12}) ?steps?$/.exec(text.trim());
  if (steps !== null) {
    const everySteps = Number(steps[1]);
    return everySteps > 0 ? parsed({ kind: 'steps', everySteps }) : refused('a cadence has at least one step');
  }
  const time = parseDuration(text);
  if (time.ok) return time.value > 0 ? parsed({ kind: 'time', everyMs: time.value }) : refused('a cadence is longer than nothing');
  if (!/^\d+$/.test(text.trim())) return refused(`"${excerpt(text, 40)}" is not a cadence: 10m, 500steps or auto`);
  return refused(`"${excerpt(text, 40)}" has no unit: 10m, 500steps or auto`);
}

/** The plan that follows from the wish and the measurements. `current` is kept while a better one promises next to nothing. */
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

/** Mean time between interruptions: those seen, and one assumed in four hours, so that a run that has seen none is not taken for immortal. */
export function meanBetweenInterruptions({ interruptions, upMs }: Pick<CadenceMeasurements, 'interruptions' | 'upMs'>): number {
  return (ASSUMED_UP_MS + upMs) / (1 + interruptions);
}

function automatic(save: AsyncSave, measured: CadenceMeasurements, current: CadencePlan | null): CadencePlan {
  const costs: Costs = {
    // What costs nothing could be done without end.
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
      ? 'no interruption yet, so none is counted on being flushed'
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
