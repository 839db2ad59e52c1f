import type { Amounts } from '../objects/amounts.ts';

/**
 * The columns that the score reads. They and local storage come first, in the order in which the
 * scheduler names what a node lacks.
 */
export const [CPU, MEMORY] = [0, 1] as const;
/** A resource list counts pods under this name; they are no column. */
export const PODS = 'pods';

/** A number for each resource name, so that amounts lie in arrays. */
export class Columns {
  readonly #byName = new Map<string, number>([
    ['cpu', CPU],
    ['memory', MEMORY],
    ['ephemeral-storage', 2],
  ]);
  readonly names: string[] = [...this.#byName.keys()];

  /** The column of a resource; a new one for a name not seen before. */
  of(name: string): number {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    this.#byName.set(name, this.names.length);
    return this.names.push(name) - 1;
  }

  /** All amounts but the number of pods, each in its column. */
  spread(amounts: Amounts): number[] {
    const found: number[] = [0, 0];
    for (const [name, amount] of amounts) {
      if (name === PODS) continue;
      const column = this.of(name);
      while (found.length <= column) found.push(0);
      found[column] = amount;
    }
    return found;
  }
}
