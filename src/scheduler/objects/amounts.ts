import { fieldsOf } from '../../kube/objects/fields.ts';
import { wholeUnits } from './whole-units.ts';

/**
 * Amounts of resources by name: thousandths of a processor for `cpu`, bytes or pieces for others.
 */
export type Amounts = ReadonlyMap<string, number>;

/** No amount of any resource. */
export const NOTHING: Amounts = new Map();

/** Reads a resource list; adds what is not a quantity to `problems`, and counts it as zero. */
export function amountsOf(value: unknown, path: string, problems: string[]): Amounts {
  const found = new Map<string, number>();
  for (const [name, quantity] of Object.entries(fieldsOf(value))) {
    const units = wholeUnits(quantity, name === 'cpu' ? 1000 : 1);
    if (units === null) problems.push(`${path}.${name} is ${JSON.stringify(quantity)}: not a quantity, counted as 0`);
    else found.set(name, units);
  }
  return found;
}

/** The sum, resource by resource. */
export function sumOf(first: Amounts, second: Amounts): Amounts {
  return combined(first, second, (one, other) => one + other);
}

/** The larger amount of each resource. */
export function mostOf(first: Amounts, second: Amounts): Amounts {
  return combined(first, second, Math.max);
}

function combined(first: Amounts, second: Amounts, how: (one: number, other: number) => number): Amounts {
  if (second.size === 0) return first;
  if (first.size === 0) return second;
  const found = new Map(first);
  for (const [name, amount] of second) found.set(name, how(found.get(name) ?? 0, amount));
  return found;
}
