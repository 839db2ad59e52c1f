import { normalQuantile, studentQuantile } from './quantiles.ts';

/** One save that was measured, on one path: how many bytes, how long. */
export interface MeasuredSave {
  readonly bytes: number;
  readonly ms: number;
}

/** How long the next save will take: half of them are faster than the median, 19 of 20 end within the P95. */
export interface Prediction {
  readonly medianMs: number;
  readonly p95Ms: number;
  /** How many measured saves stand behind it; 0: none. */
  readonly samples: number;
}

/**
 * What saves have taught so far. Plain data: it can be kept in the ledger's place and read again.
 *
 * `level` is the quantile that is reported as the P95. It starts at 0.95 and moves a little with every save, up when one came later than
 * predicted, down when not, so that in the long run 19 of 20 end in time whatever the distribution is, and also while it drifts.
 */
export interface SaveTimes {
  readonly saves: readonly MeasuredSave[];
  readonly level: number;
  readonly error: PredictionError;
}

/** How good the predictions were that could be compared with what happened. */
export interface PredictionError {
  readonly compared: number;
  readonly withinP95: number;
  /** Mean of |measured / median − 1|. */
  readonly meanDeviation: number;
}

const TARGET = 0.95;
/** How far one save moves the level; larger follows drift faster and wavers more. */
const STEP = 0.02;
const LEAST_LEVEL = 0.9;
const MOST_LEVEL = 0.995;
/** Older saves tell about another time of the disk. */
const REMEMBERED = 64;
/** Saves are compared with those of similar size while there are this many. */
const ENOUGH_ALIKE = 8;
/** Disks are never steadier than this (standard deviation of the logarithm). */
const LEAST_SPREAD = 0.02;
/** The tail is extrapolated to at most four times the slowest save: two that differ a lot would otherwise promise days. */
const MOST_BEYOND = Math.log(4);
/** What is assumed of the spread before two saves have shown it. */
const ASSUMED_SPREAD = 0.3;

export const NO_SAVES: SaveTimes = { saves: [], level: TARGET, error: { compared: 0, withinP95: 0, meanDeviation: 0 } };

/** Learns from one more save, and first from how well it had been predicted. A measurement that cannot be one is left out. */
export function observeSave(times: SaveTimes, save: MeasuredSave): SaveTimes {
  if (!(save.ms > 0) || !(save.bytes >= 0) || !Number.isFinite(save.ms) || !Number.isFinite(save.bytes)) return times;
  const predicted = predictSave(times, save.bytes);
  const saves = [...times.saves, save].slice(-REMEMBERED);
  if (predicted === null) return { ...times, saves };
  const isWithin = save.ms <= predicted.p95Ms;
  const moved = times.level + STEP * (isWithin ? TARGET - 1 : TARGET);
  const { compared, withinP95, meanDeviation } = times.error;
  const off = Math.abs(save.ms / predicted.medianMs - 1);
  return {
    saves,
    level: Math.min(MOST_LEVEL, Math.max(LEAST_LEVEL, moved)),
    error: {
      compared: compared + 1,
      withinP95: withinP95 + (isWithin ? 1 : 0),
      meanDeviation: meanDeviation + (off - meanDeviation) / (compared + 1),
    },
  };
}

/** How long a save of this size will take, or null when nothing was measured yet. */
export function predictSave({ saves, level }: SaveTimes, bytes: number): Prediction | null {
  if (saves.length === 0) return null;
  const alike = saves.filter((save) => isAlike(save.bytes, bytes));
  const chosen = alike.length >= ENOUGH_ALIKE ? alike : saves;
  const logs = chosen.map((save) => Math.log(save.ms * sizeFactor(save.bytes, bytes)));
  const likely = distributionOfNext(logs);
  const median = quantileOf(likely, 0.5);
  return { medianMs: Math.exp(median), p95Ms: Math.exp(Math.max(median, upper(likely, level))), samples: chosen.length };
}

/** How good the predictions of several kinds were, each counted by how often it was compared. */
export function joinErrors(...errors: readonly PredictionError[]): PredictionError {
  const compared = errors.reduce((sum, error) => sum + error.compared, 0);
  const withinP95 = errors.reduce((sum, error) => sum + error.withinP95, 0);
  const deviations = errors.reduce((sum, error) => sum + error.compared * error.meanDeviation, 0);
  return { compared, withinP95, meanDeviation: compared === 0 ? 0 : deviations / compared };
}

function isAlike(a: number, b: number): boolean {
  return a <= 2 * b && b <= 2 * a;
}

/** A larger save takes proportionally longer. Of a smaller one only the part that bytes cause is spared: half of it, to be careful. */
function sizeFactor(measured: number, wanted: number): number {
  const ratio = (wanted + 1) / (measured + 1);
  return ratio >= 1 ? ratio : (1 + ratio) / 2;
}

/**
 * What the next save may take, sorted, from what the last ones took, oldest first. A disk that a neighbour disturbs stays disturbed for a
 * while: where the measurements show that, the next save is taken to stay as far from the mean as the newest did, by as much as such
 * distances have lasted.
 */
function distributionOfNext(logs: readonly number[]): readonly number[] {
  const lasting = persistence(logs);
  const centre = mean(logs);
  const newest = lasting * ((logs.at(-1) as number) - centre);
  const next = lasting === 0 ? logs : logs.slice(1).map((log, index) => newest + log - lasting * ((logs[index] as number) - centre));
  return next.toSorted((a, b) => a - b);
}

/** The share of a deviation that is still there at the next save; 0 unless it is more than chance would show. */
function persistence(logs: readonly number[]): number {
  if (logs.length < ENOUGH_ALIKE) return 0;
  const centre = mean(logs);
  let [together, alone] = [0, 0];
  for (const [index, log] of logs.entries()) {
    alone += (log - centre) ** 2;
    if (index > 0) together += (log - centre) * ((logs[index - 1] as number) - centre);
  }
  const share = alone === 0 ? 0 : together / alone;
  return share > 2 / Math.sqrt(logs.length) ? share : 0;
}

/** The quantile of what the next save will take. */
function upper(logs: readonly number[], level: number): number {
  const count = logs.length;
  // The next of n + 1 exchangeable saves falls at or below the k-th measured one with probability k / (n + 1).
  const rank = Math.ceil(level * (count + 1));
  if (rank <= count) return logs[rank - 1] as number;
  // Few samples say little about the tail: it is extrapolated as log-normal, and never below what was seen.
  const spread = Math.max(LEAST_SPREAD, count < 2 ? ASSUMED_SPREAD : deviation(logs));
  const factor = count < 2 ? normalQuantile(level) : studentQuantile(level, count - 1);
  const slowest = logs.at(-1) as number;
  return Math.min(Math.max(slowest, mean(logs) + factor * spread * Math.sqrt(1 + 1 / count)), slowest + MOST_BEYOND);
}

function deviation(logs: readonly number[]): number {
  const centre = mean(logs);
  return Math.sqrt(logs.reduce((sum, log) => sum + (log - centre) ** 2, 0) / (logs.length - 1));
}

function mean(logs: readonly number[]): number {
  return logs.reduce((sum, log) => sum + log, 0) / logs.length;
}

function quantileOf(sorted: readonly number[], level: number): number {
  const at = level * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)] as number, sorted[Math.ceil(at)] as number];
  return low + (high - low) * (at - Math.floor(at));
}
