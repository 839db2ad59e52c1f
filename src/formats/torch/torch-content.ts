import { excerpt } from '../../core/printable.ts';
import { needOfKey } from '../reading/content-names.ts';
import type { Findings } from '../reading/findings.ts';
import type { TorchObject } from './torch-object.ts';
import { asDict, asInt, asItems, callOf, dictEntries, dictGet, type PickleValue, typeName } from '../encodings/pickle/value.ts';
import { needOfTensor } from '../reading/tensor-names.ts';
import { readScalar } from './scalar.ts';

/**
 * Keys that count updates, most reliable first. One file may hold several, and only one of them is
 * its step.
 */
const STEP_KEYS = [
  'global_step',
  'global_steps',
  'step',
  'steps',
  'iteration',
  'iterations',
  'iter',
  'current_step',
  'num_steps',
  'train_step',
];
/** Keys under which programs store their progress, and whole states. */
const NESTED_KEYS = ['state', 'trainer_state', 'train_state', 'trainer', 'progress', 'meta'];
/** How many entries of one dictionary are inspected. */
const ENTRIES = 20_000;
/**
 * The longest dictionary that is searched for the keys of a state. The `state_dict()` of an
 * optimizer has two keys, a scheduler has about twelve.
 */
const STATE_KEYS = 256;

/**
 * Describes what a trainer finds in a torch file whose writer is unknown. It uses the names of the
 * top-level keys and the shape of their values. A dictionary with tensors and no known key counts
 * as weights, because most such files are weights.
 */
export function describeTorchContent(object: TorchObject, findings: Findings): void {
  const { value, source } = object;
  if (value === undefined) return;
  const own = shapeOf(value);
  if (own !== null) {
    findings.content.add(own, source.file);
    return;
  }
  describeEntries(object, value, '', findings);
  const states = NESTED_KEYS.map((key) => [key, dictGet(value, key)] as const).filter(([, state]) => asDict(state) !== null);
  for (const [key, state] of states) {
    if (shapeOf(state) === null) describeEntries(object, state, `${key}.`, findings);
  }
  addStep(object, [['', value], ...states.map(([key, state]) => [`${key}.`, state] as const)], findings);
  const { found } = findings.content;
  const isUntold = Object.values(found).every((places) => places.length === 0);
  if (isUntold && object.storages.size > 0) findings.content.add('weights', source.file);
}

type Part = 'weights' | 'optimizer' | 'scheduler' | 'rng';

/** Keys that identify a dictionary: all keys of the first list and one key of the second. */
const SHAPES: readonly (readonly [Part, readonly string[], readonly string[]])[] = [
  ['optimizer', ['state'], ['param_groups']],
  ['scheduler', ['last_epoch'], ['base_lrs', '_step_count']],
  ['rng', ['python', 'numpy'], ['cpu', 'cuda', 'torch']],
];

/**
 * Classifies a value by its shape alone: the `state_dict()` of an optimizer or a scheduler, or the
 * random states of a trainer.
 */
function shapeOf(value: PickleValue | undefined): Part | null {
  const keys = asDict(value)?.keys ?? [];
  if (keys.length > STATE_KEYS) return null;
  const shape = SHAPES.find(([, all, one]) => all.every((key) => keys.includes(key)) && one.some((key) => keys.includes(key)));
  return shape?.[0] ?? null;
}

function describeEntries({ source }: TorchObject, value: PickleValue | undefined, path: string, findings: Findings): void {
  let seen = 0;
  for (const [key, entry] of dictEntries(value)) {
    if (++seen > ENTRIES) return;
    const part = partOf(key, entry);
    if (part !== null) findings.content.add(part, `${source.file}: ${excerpt(path + rootOf(key, entry))}`);
  }
}

/** Classifies the tensors of a flat state by the first part of their names. */
function rootOf(key: string, entry: PickleValue): string {
  return isTensor(entry) && key.includes('.') ? key.slice(0, key.indexOf('.')) : key;
}

function partOf(key: string, entry: PickleValue): Part | null {
  if (isNothing(entry)) return null;
  if (isTensor(entry)) return tensorPart(key);
  const shape = shapeOf(entry);
  if (shape !== null) return shape;
  const need = needOfKey(key);
  if (need !== null && need !== 'step') return need;
  return holdsTensors(entry) ? 'weights' : null;
}

function tensorPart(key: string): Part | null {
  if (key.includes('.')) return needOfTensor(key);
  const need = needOfKey(key);
  return need === 'step' ? null : (need ?? 'weights');
}

function isNothing(value: PickleValue): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (value.kind === 'float') return true;
  const items = asItems(value);
  if (items !== null && callOf(value) === null) return items.length === 0;
  const dict = asDict(value);
  return dict !== null && dict.keys.length === 0;
}

/** How many entries of a dictionary are searched for a tensor. */
const TENSOR_SEARCH = 8;

/**
 * Returns true when one of the first entries is a tensor, or a dictionary with one: a state dict,
 * or a few of them.
 */
function holdsTensors(value: PickleValue | undefined, depth = 2): boolean {
  if (isTensor(value)) return true;
  const values = asDict(value)?.values;
  if (values === undefined || depth === 0) return false;
  return values.slice(0, TENSOR_SEARCH).some((entry) => holdsTensors(entry, depth - 1));
}

function isTensor(value: PickleValue | undefined): boolean {
  const type = typeName(value);
  return type !== null && /^torch\.(_utils|_tensor|tensor)\._rebuild_/.test(type);
}

function addStep(object: TorchObject, places: readonly (readonly [string, PickleValue | undefined])[], findings: Findings): void {
  const { content } = findings;
  const { file } = object.source;
  for (const [path, value] of places) {
    const key = STEP_KEYS.find((name) => stepAt(object, dictGet(value, name)) !== null);
    if (key !== undefined) return content.addStep(stepAt(object, dictGet(value, key)) ?? 0, file, `${file}: ${path}${key}`);
  }
  // Uses the epoch only when one file is the whole save. An epoch is not a step, because two files
  // of one save may count epochs differently.
  const epoch = places.map(([, value]) => asInt(dictGet(value, 'epoch'))).find((found) => found !== null);
  const isWhole = content.found.weights.length > 0 && content.found.optimizer.length > 0;
  if (epoch !== undefined && epoch !== null && isWhole) content.addStep(epoch, file, `${file}: epoch`);
}

function stepAt(object: TorchObject, value: PickleValue | undefined): number | null {
  const step = asInt(value) ?? readScalar(object, value);
  return step !== null && Number.isSafeInteger(step) && step >= 0 ? step : null;
}
