import { argsOf, asInt, asItems, asNumber, callOf, dictEntries, dictGet, type PickleValue, asDict } from './value.ts';

/**
 * Reads the value of a tensor with one element; returns null for other tensors and for values
 * beyond the read limit.
 */
export type ScalarReader = (tensor: PickleValue | undefined) => number | null;

/** The most parameters whose step is inspected. */
const PARAMETERS_READ = 4096;

/**
 * Returns how many updates an optimizer has made, from its `state_dict()`. The result is the
 * largest `step` over its parameters and parameter groups, because parameters unfrozen late have
 * fewer. Returns null when the optimizer does not count (plain SGD) or has made none. The search
 * stops once it reaches `expected`.
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

/**
 * How often the trainer stepped a scheduler, from its `state_dict()`; null for schedulers that step
 * by metric or count otherwise.
 */
export function schedulerStep(state: PickleValue | undefined): number | null {
  if (dictGet(state, 'num_bad_epochs') !== undefined) return null;
  return asInt(dictGet(state, 'last_epoch'));
}

/** How many levels of lists are searched; a state is at most a list of lists. */
const LISTS_READ = 1000;

/**
 * True for an optimizer's `state_dict()` or a list of them, unless it is empty. Lists can contain
 * themselves, so each is read once.
 */
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
