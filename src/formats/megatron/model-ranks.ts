import { printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import type { ParallelSizes } from './common-state.ts';

/** A folder `mp_rank_TT[_PPP][_EEE]`: one model-parallel rank. */
export interface ModelRank {
  readonly folder: string;
  /** The numbers as they stand in the name. */
  readonly numbers: readonly number[];
}

const FOLDER = /^mp_rank_(\d{2,})(?:_(\d{3,}))?(?:_(\d{3,}))?$/;
/** Folders that are named one by one when they are missing. */
const NAMED = 20;

/** Reads the ranks from the name of a model folder; null for another name. */
export function parseModelRank(folder: string): ModelRank | null {
  const match = FOLDER.exec(folder);
  if (match === null) return null;
  return {
    folder,
    numbers: match
      .slice(1)
      .filter((part) => part !== undefined)
      .map(Number),
  };
}

/**
 * Compares the folders with the layout. Ranks of every kind that has more than one stand in the
 * name, so the sizes are known from the arguments; without them the indices that are there must
 * form a full rectangle.
 */
export function checkModelRanks(directory: Directory, ranks: readonly ModelRank[], sizes: ParallelSizes | null, findings: Findings): void {
  const lengths = new Set(ranks.map(({ numbers }) => numbers.length));
  const dimensions = Math.max(...lengths);
  const bounds = (sizes === null ? null : boundsOf(sizes, dimensions)) ?? reachOf(ranks, dimensions);
  const present = new Set(ranks.filter(({ numbers }) => numbers.length === dimensions).map(({ numbers }) => numbers.join()));
  reportMissing(directory, bounds, present, findings);
  for (const { folder, numbers } of ranks) {
    if (numbers.length === dimensions && numbers.every((number, index) => number < (bounds[index] ?? 0))) continue;
    const file = directory.pathOf(folder);
    const message = `${printable(file)} lies outside the layout of ${bounds.join(' × ')} ranks that wrote this checkpoint`;
    findings.add('MEGATRON_RANKS_SURPLUS', { file, expected: bounds.join(' × '), found: numbers.join(', ') }, message);
  }
}

/**
 * How many ranks each number in the names counts; null when the sizes do not fit names of that many
 * numbers.
 */
function boundsOf({ tensor, pipeline, expert }: ParallelSizes, dimensions: number): readonly number[] | null {
  if (tensor === null || pipeline === null) return null;
  const bounds = [tensor];
  if (pipeline > 1) bounds.push(pipeline);
  if (expert !== null && expert > 1) bounds.push(expert);
  return bounds.length === dimensions ? bounds : null;
}

function reachOf(ranks: readonly ModelRank[], dimensions: number): readonly number[] {
  return Array.from({ length: dimensions }, (_, index) =>
    ranks.reduce((reach, { numbers }) => Math.max(reach, (numbers[index] ?? 0) + 1), 0),
  );
}

/** Walks the rectangle only as far as missing folders are named; the rest is counted. */
function reportMissing(directory: Directory, bounds: readonly number[], present: ReadonlySet<string>, findings: Findings): void {
  const total = bounds.reduce((product, bound) => product * bound, 1);
  let named = 0;
  for (let index = 0; index < total && named < NAMED && index <= present.size + NAMED; index++) {
    const numbers = numbersAt(index, bounds);
    if (present.has(numbers.join())) continue;
    named++;
    const [tensor, ...others] = numbers;
    const folder = `mp_rank_${[pad(tensor ?? 0, 2), ...others.map((number) => pad(number, 3))].join('_')}`;
    const file = directory.pathOf(folder);
    findings.add('FILE_MISSING', { file }, `${printable(file)} is missing: the checkpoint was written by ${bounds.join(' × ')} ranks`);
  }
}

function numbersAt(index: number, bounds: readonly number[]): readonly number[] {
  const numbers: number[] = [];
  let rest = index;
  for (const bound of bounds.toReversed()) {
    numbers.unshift(rest % bound);
    rest = Math.floor(rest / bound);
  }
  return numbers;
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0');
}
