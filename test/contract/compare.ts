import type { Shape } from './shape.ts';

/** A recorded tree: names that lead to a word, to a set of words, or to more names. */
export type Tree = string | readonly string[] | { readonly [name: string]: Tree };

/**
 * A set has no order, and each of its words is a separate line. So a new word changes no old line.
 */
function linesOf(tree: Tree, place = ''): readonly string[] {
  if (typeof tree === 'string') return [`${place} = ${tree}`];
  if (isWords(tree)) return tree.map((word) => `${place} has ${word}`);
  return Object.entries(tree).flatMap(([name, inner]) => linesOf(inner, place === '' ? name : `${place} › ${name}`));
}

function isWords(tree: Tree): tree is readonly string[] {
  return Array.isArray(tree);
}

export interface Difference {
  /** Lines that were recorded and no longer exist: a program that depends on one breaks. */
  readonly lost: readonly string[];
  /** Lines that exist and are not recorded yet. */
  readonly added: readonly string[];
}

/** The lines that differ between a recorded tree and the present one. */
export function differenceOf(recorded: Tree, present: Tree): Difference {
  const [before, now] = [new Set(linesOf(recorded)), new Set(linesOf(present))];
  return { lost: [...before].filter((line) => !now.has(line)), added: [...now].filter((line) => !before.has(line)) };
}

/**
 * The same for the shapes of a document that depends on the machine. Null or an empty list on one
 * machine says nothing about other machines, so it is no difference.
 */
export function shapeDifferenceOf(recorded: Shape, present: Shape): Difference {
  return { lost: missingFrom(present, recorded), added: missingFrom(recorded, present) };
}

function missingFrom(there: Shape, wanted: Shape): readonly string[] {
  return Object.entries(wanted).flatMap(([place, types]) =>
    types.filter((type) => !saysNothing(there, place, type)).map((type) => `${place} has ${type}`),
  );
}

/** Whether the shape says nothing about the place; true also if it has the type. */
function saysNothing(shape: Shape, place: string, type: string): boolean {
  const types = shape[place];
  if (types === undefined) return isUnknown(shape, place);
  return types.includes(type) || isEmpty([type]) || isEmpty(types);
}

/** Whether the parent of the place is null, or an empty list. */
function isUnknown(shape: Shape, place: string): boolean {
  const parent = place.endsWith('[]') ? place.slice(0, -2) : place.slice(0, Math.max(0, place.lastIndexOf('.')));
  const types = shape[parent];
  if (types === undefined) return isUnknown(shape, parent);
  return isEmpty(types) || (place.endsWith('[]') && types.includes('list'));
}

function isEmpty(types: readonly string[]): boolean {
  return types.every((type) => type === 'null' || type === 'absent');
}

/** The union of both shapes, place by place: one machine may show what another cannot. */
export function joinShapes(one: Shape, other: Shape): Shape {
  const places = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
  return Object.fromEntries(places.map((place) => [place, [...new Set([...(one[place] ?? []), ...(other[place] ?? [])])].sort()]));
}
