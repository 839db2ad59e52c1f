import { printable } from '../../core/printable.ts';
import { type DeepSpeedName, deepSpeedName } from './deepspeed-names.ts';
import { compareNumbering, type Place, reportMissing } from '../reading/numbering.ts';

/** How many ranks the files themselves speak of; null where they do not. */
export interface DeepSpeedWorld {
  readonly data: number | null;
  readonly model: number | null;
}

/**
 * One dimension of the files of a kind: which number of a name it is and how many there should be.
 */
interface Axis {
  readonly key: 'dp' | 'mp' | 'expert';
  readonly expected: number | null;
  readonly of: string;
}

/**
 * Files of one kind, one for each rank: complete from rank 0 on, in both directions, and none
 * beyond.
 */
export function checkRanks(place: Place, files: readonly DeepSpeedName[], world: DeepSpeedWorld): void {
  const data: Axis = { key: 'dp', expected: world.data, of: 'data-parallel ranks' };
  checkGrid(place, files, [modelAxis(world.model), data]);
}

/** Experts of each layer, from 0 without gaps, for every model-parallel rank. */
export function checkExperts(
  place: Place,
  files: readonly DeepSpeedName[],
  modelWorld: number | null,
  experts: readonly number[] | null,
): void {
  const byLayer = groupBy(files, ({ layer }) => layer);
  for (const [layer, ofLayer] of byLayer) {
    checkGrid(place, ofLayer, [modelAxis(modelWorld), { key: 'expert', expected: experts?.[layer ?? 0] ?? null, of: 'experts' }]);
  }
  if (experts === null || byLayer.has(null)) return;
  const example = { kind: 'expert', dp: 0, mp: 0, expert: 0, precision: '' } as const;
  const found = [...byLayer.keys()].filter((layer) => layer !== null);
  reportMissing(place, {
    found,
    expected: experts.length,
    of: 'layers with experts',
    nameOf: (layer) => deepSpeedName({ ...example, layer }),
  });
}

/**
 * Optimizer state of experts: one file for each expert-parallel rank, whose number is nowhere
 * recorded.
 */
export function checkExpertOptimizers(place: Place, files: readonly DeepSpeedName[], modelWorld: number | null): void {
  checkGrid(place, files, [modelAxis(modelWorld), { key: 'expert', expected: null, of: 'expert-parallel ranks' }]);
}

/**
 * Pipeline layers: every layer that the parameters speak of, each for every tensor-parallel rank.
 */
export function checkLayers(place: Place, files: readonly DeepSpeedName[], needed: ReadonlySet<number>): void {
  const byLayer = groupBy(files, ({ layer }) => layer ?? 0);
  const ranks = new Set(files.map(({ mp }) => mp)).size;
  // Without tensor parallelism the names carry no rank.
  const isPlain = !files.some(({ name }) => /-model_\d/.test(name));
  const nameOf = (layer: number, mp: number) => {
    const name = deepSpeedName({ kind: 'layer', dp: 0, mp, layer, expert: 0, precision: '' });
    return isPlain ? name.replace('-model_00-', '-') : name;
  };
  for (const [layer, column] of byLayer) {
    const found = column.map(({ mp }) => mp);
    reportMissing(place, { found, expected: ranks, of: 'tensor-parallel ranks', nameOf: (mp) => nameOf(layer, mp) });
  }
  for (const layer of needed) {
    if (byLayer.has(layer)) continue;
    const file = place.directory.pathOf(nameOf(layer, 0));
    place.findings.add('FILE_MISSING', { file }, `layer ${layer} has parameters, but no file ${nameOf(layer, 0)} is there`);
  }
  if (needed.size === 0) reportLayerGaps(place, byLayer.keys());
}

function reportLayerGaps({ findings }: Place, layers: Iterable<number>): void {
  const { missing } = compareNumbering(layers, null);
  if (missing.length === 0) return;
  const found = missing.join(', ');
  findings.add('DEEPSPEED_LAYER_GAP', { file: null, found }, `no file of layer ${found} is there, while later layers have theirs`);
}

function modelAxis(expected: number | null): Axis {
  return { key: 'mp', expected, of: 'model-parallel ranks' };
}

/** Numbers along the first axis complete, and for each of them those along the second. */
function checkGrid(place: Place, files: readonly DeepSpeedName[], [outer, inner]: readonly [Axis, Axis]): void {
  const [first] = files;
  if (first === undefined) return;
  const columns = groupBy(files, (file) => file[outer.key]);
  const corner = { ...first, [inner.key]: 0 };
  reportMissing(place, { ...outer, found: columns.keys(), nameOf: (number) => deepSpeedName({ ...corner, [outer.key]: number }) });
  for (const [number, column] of columns) {
    if (reportSurplus(place, column, outer)) continue;
    const found = column.map((file) => file[inner.key]);
    const inColumn = { ...first, [outer.key]: number };
    reportMissing(place, { ...inner, found, nameOf: (row) => deepSpeedName({ ...inColumn, [inner.key]: row }) });
    reportSurplus(place, column, inner);
  }
}

/** Reports files beyond the end of an axis; true when there were any. */
function reportSurplus({ directory, findings }: Place, files: readonly DeepSpeedName[], axis: Axis): boolean {
  const { expected } = axis;
  if (expected === null) return false;
  const surplus = files.filter((file) => file[axis.key] >= expected);
  for (const { name } of surplus) {
    const message = `${printable(name)} belongs to another save: the other files were written by ${expected} ${axis.of}`;
    findings.add('DEEPSPEED_LEFTOVER_RANK', { file: directory.pathOf(name), expected: `${expected} ${axis.of}` }, message);
  }
  return surplus.length > 0;
}

function groupBy<K>(files: readonly DeepSpeedName[], key: (file: DeepSpeedName) => K): ReadonlyMap<K, readonly DeepSpeedName[]> {
  const groups = new Map<K, DeepSpeedName[]>();
  for (const file of files) {
    const group = groups.get(key(file));
    if (group === undefined) groups.set(key(file), [file]);
    else group.push(file);
  }
  return groups;
}
