import { HoldfastError } from '../../../core/errors.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import { someOf } from '../../../whatif/world/note.ts';
import type { ReadWorld } from './read-world.ts';

/** The nodes of these names; an error names the first that is not there. */
export function nodesNamed({ world, from }: ReadWorld, names: readonly string[]): ReadonlySet<string> {
  const known = new Set(world.input.nodes.map(({ name }) => name));
  const missing = names.find((name) => !known.has(name.replace(/^node\//, '')));
  if (missing === undefined) return new Set(names.map((name) => name.replace(/^node\//, '')));
  throw new HoldfastError('OBJECT_NOT_FOUND', {
    message: `there is no node ${excerpt(missing, 80)} (${printable(from)})`,
    hint: known.size === 0 ? 'The input has no node at all.' : `There are ${printable(someOf([...known], 8))}.`,
  });
}
