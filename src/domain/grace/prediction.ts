import { normalQuantile, studentQuantile } from '../cadence/quantiles.ts';

/** One measured save on one path: its bytes and its duration. */
export interface MeasuredSave {
  readonly bytes: number;
  readonly ms: number;
}

/**
 * The predicted duration of the next save: half are faster than the median, 19 of 20 end within the
 * P95.
 */
export interface Prediction {
  readonly medianMs: number;
  readonly p95Ms: number;
  /** The number of measured saves behind it; 0: none. */
  readonly samples: number;
}

/**
 * The statistics of past saves. Plain data: the ledger can hold it and read it again.
 *
 * `level` is the quantile reported as the P95. It starts at 0.95 and moves a little with every
 * save: up after a late save, down otherwise. In the long run 19 of 20 saves end in time for any
 * distribution, even while it drifts.
 */
export interface SaveTimes {
  readonly saves: readonly MeasuredSave[];
  readonly level: number;
  readonly error: PredictionError;
}

/** The accuracy of the predictions that were compared with real saves. */
export interface PredictionError {
  readonly compared: number;
  readonly withinP95: number;
  /** Mean of |measured / median − 1|. */
  readonly meanDeviation: number;
}

const TARGET = 0.95;
/** How far one save moves the level. A larger value follows drift faster and wavers more. */
const STEP = 0.02;
const LEAST_LEVEL = 0.9;
const MOST_LEVEL = 0.995;
/** Older saves describe an earlier state of the disk. */
const REMEMBERED = 64;
/** While there are this many, saves are compared only with those of similar size. */
const ENOUGH_ALIKE = 8;
/** The assumed minimum spread of a disk (standard deviation of the logarithm). */
const LEAST_SPREAD = 0.02;
/**
 * The tail is extrapolated to at most four times the slowest save. Two saves that differ a lot
 * would otherwise predict days.
 */
const MOST_BEYOND = Math.log(4);
/** The spread assumed until two saves have been measured. */
const ASSUMED_SPREAD = 0.3;

/** The statistics before the first save. */
export const NO_SAVES: SaveTimes = { saves: [], level: TARGET, error: { compared: 0, withinP95: 0, meanDeviation: 0 } };

/**
 * Records one more save, and first the accuracy of its prediction. Ignores values that cannot be
 * measurements.
 */
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

/** The predicted duration of a save of this size, or null when nothing was measured yet. */
export function predictSave({ saves, level }: SaveTimes, bytes: number): Prediction | null {
  if (saves.length === 0) return null;
  const alike = saves.filter((save) => isAlike(save.bytes, bytes));
  const chosen = alike.length >= ENOUGH_ALIKE ? alike : saves;
  const logs = chosen.map((save) => Math.log(save.ms * sizeFactor(save.bytes, bytes)));
  const likely = distributionOfNext(logs);
  const median = quantileOf(likely, 0.5);
  return { medianMs: Math.exp(median), p95Ms: Math.exp(Math.max(median, upper(likely, level))), samples: chosen.length };
}

/** The joint accuracy of several kinds of predictions, weighted by their numbers of comparisons. */
export function joinErrors(...errors: readonly PredictionError[]): PredictionError {
  const compared = errors.reduce((sum, error) => sum + error.compared, 0);
  const withinP95 = errors.reduce((sum, error) => sum + error.withinP95, 0);
  const deviations = errors.reduce((sum, error) => sum + error.compared * error.meanDeviation, 0);
  return { compared, withinP95, meanDeviation: compared === 0 ? 0 : deviations / compared };
}

function isAlike(a: number, b: number): boolean {
  return a <= 2 * b && b <= 2 * a;
}

/**
 * A larger save takes proportionally longer. For a smaller one only half of the time shrinks with
 * the bytes, to be careful.
 */
function sizeFactor(measured: number, wanted: number): number {
  const ratio = (wanted + 1) / (measured + 1);
  return ratio >= 1 ? ratio : (1 + ratio) / 2;
}

/**
 * The possible durations of the next save, sorted, from the last ones, oldest first. A disk that a
 * neighbour disturbs stays disturbed for a while. Where the measurements show that, the prediction
 * keeps part of the newest deviation from the mean.
 */
function distributionOfNext(logs: readonly number[]): readonly number[] {
  const lasting = persistence(logs);
  const centre = mean(logs);
  const newest = lasting * ((logs.at(-1) as number) - centre);
  const next = lasting === 0 ? logs : logs.slice(1).map((log, index) => newest + log - lasting * ((logs[index] as number) - centre));
  return next.toSorted((a, b) => a - b);
}

/** The share of a deviation that remains at the next save; 0 unless it is more than chance. */
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

/** The quantile of the duration of the next save. */
function upper(logs: readonly number[], level: number): number {
  const count = logs.length;
  // The next of n + 1 exchangeable saves falls at or below the k-th measured one with probability k
  // / (n + 1).
  const rank = Math.ceil(level * (count + 1));
  if (rank <= count) return logs[rank - 1] as number;
  // Few samples say little about the tail. It is extrapolated as log-normal, and never below the
  // slowest sample.
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
