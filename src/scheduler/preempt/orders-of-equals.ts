import { byImportance, type Unit } from './preemption-unit.ts';

/** Of more equals on one node, only the first are put into other orders: 2 to the power of this. */
const MOST_EQUALS = 8;

/**
 * The orders in which the scheduler may look at units, from the most important one. For every set
 * of equals there is an order that has it before the other equals: these orders are enough to spare
 * each set that can be spared. The first order is the one that is passed.
 */
export function ordersOfEquals(ordered: readonly Unit[]): readonly (readonly Unit[])[] {
  let orders: readonly (readonly Unit[])[] = [[]];
  for (const equals of runsOfEquals(ordered)) {
    const own = ordersOf(equals);
    orders = orders.flatMap((before) => own.map((each) => [...before, ...each])).slice(0, 2 ** MOST_EQUALS);
  }
  return orders;
}

function runsOfEquals(ordered: readonly Unit[]): readonly (readonly Unit[])[] {
  const runs: Unit[][] = [];
  for (const unit of ordered) {
    const last = runs.at(-1);
    const [first] = last ?? [];
    if (last !== undefined && first !== undefined && byImportance(first, unit) === 0) last.push(unit);
    else runs.push([unit]);
  }
  return runs;
}

/** The order as it is, then each other set of them first. */
function ordersOf(equals: readonly Unit[]): readonly (readonly Unit[])[] {
  if (equals.length < 2) return [equals];
  const [mixed, rest] = [equals.slice(0, MOST_EQUALS), equals.slice(MOST_EQUALS)];
  return Array.from({ length: 2 ** mixed.length - 1 }, (_, mask) => {
    const isFirst = (bit: number): boolean => (mask >> bit) % 2 === 1;
    return [...mixed.filter((_unit, bit) => isFirst(bit)), ...mixed.filter((_unit, bit) => !isFirst(bit)), ...rest];
  });
}
