import { argsOf, asInt, asItems, asNumber, callOf, dictEntries, dictGet, type PickleValue, asDict } from '../pickle/value.ts';

/** Reads the value of a tensor with one element, null when it is no such tensor or lies beyond what may be read. */
export type ScalarReader = (tensor: PickleValue | undefined) => number | null;

/** Most parameters whose step is looked at. */
const PARAMETERS_READ = 4096;

/**
 * How many updates an optimizer has made, from its `state_dict()`: the largest `step` over its parameters and parameter groups (those
 * unfrozen late have made fewer). Null when it does not count (plain SGD) or has made none. Stops early once `expected` is reached.
 */
export function optimizerStep(
  state: PickleValue | undefined,
  readScalar: ScalarReader,
  expected = Number.POSITIVE_INFINITY,
): number | null {
  let largest = 0;
  for (const counter of stepCounters(state)) {
    const step = asNumber(counter) ?? readScalar(counter);
    if (step !== null && Number.isSafeInteger(step)) largest = Math.max(largest, step);
    if (largest === expected) break;
  }
  return largest === 0 ? null : largest;
}

function* stepCounters(state: PickleValue | undefined): Generator<PickleValue> {
  const groups = asItems(dictGet(state, 'param_groups')) ?? [];
  const parameters = asDict(dictGet(state, 'state'))?.values ?? [];
  for (const holder of [...groups.slice(0, PARAMETERS_READ), ...parameters.slice(0, PARAMETERS_READ)]) {
    const counter = dictGet(holder, 'step');
    if (counter !== undefined) yield counter;
  }
}

/** How often a scheduler was stepped, from its `state_dict()`; null for those that step by metric or count otherwise. */
export function schedulerStep(state: PickleValue | undefined): number | null {
  if (dictGet(state, 'num_bad_epochs') !== undefined) return null;
  return asInt(dictGet(state, 'last_epoch'));
}

/** Lists that are looked into; a state is at most a list of lists. */
const LISTS_READ = 1000;

/** True for an optimizer's `state_dict()` or a list of them, unless there is nothing in it. Lists can hold themselves, so each is read once. */
export function holdsState(value: PickleValue | undefined): boolean {
  const pending: (readonly PickleValue[])[] = [value === undefined ? [] : [value]];
  const seen = new Set(pending);
  for (const list of pending) {
    for (const item of list) {
      const items = asItems(item);
      if (items === null) {
        if (isState(item)) return true;
      } else if (!seen.has(items) && pending.length < LISTS_READ) {
        seen.add(items);
        pending.push(items);
      }
    }
  }
  return false;
}

function isState(value: PickleValue): boolean {
  for (const _ of dictEntries(value)) return true;
  return callOf(value) !== null;
}

/** The number of an enumeration's member, which is pickled as a call of its class. */
export function enumNumber(value: PickleValue | undefined): number | null {
  const call = callOf(value);
  return asInt(call === null ? value : argsOf(call)[0]);
}
