import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Contract } from './collect.ts';
import { type Difference, differenceOf, joinShapes, shapeDifferenceOf, type Tree } from './compare.ts';

const FILE = join(import.meta.dirname, 'golden.json');

/** Documents that depend on the machine's kernel, its disk or its file system in memory. */
const DEPENDS_ON_MACHINE = /^(?:probe|seal|fetch|image of .*|message folder|message reserved|(?:copied )?file .*)$/;

/** The recorded contract. */
interface Golden extends Contract {
  /** The names that the Python package offers, and the messages that it sends. */
  readonly python: Tree;
}

/** Reads the recorded contract. */
export function readGolden(): Golden {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Golden;
}

/** Every line that was recorded and is gone or changed, and every new line. */
export function changesSince(golden: Contract, present: Contract): Difference {
  const kinds = [...new Set([...Object.keys(golden.shapes), ...Object.keys(present.shapes)])];
  const shapes = kinds.map((kind) => {
    const [before, now] = [golden.shapes[kind] ?? {}, present.shapes[kind] ?? {}];
    const isGone = !Object.hasOwn(golden.shapes, kind) || !Object.hasOwn(present.shapes, kind);
    const { lost, added } = DEPENDS_ON_MACHINE.test(kind) && !isGone ? shapeDifferenceOf(before, now) : differenceOf(before, now);
    return { lost: lost.map((line) => `${kind}: ${line}`), added: added.map((line) => `${kind}: ${line}`) };
  });
  const names = differenceOf(golden.names, present.names);
  return { lost: [names, ...shapes].flatMap(({ lost }) => lost), added: [names, ...shapes].flatMap(({ added }) => added) };
}

/**
 * Records the present contract. Documents that depend on the machine keep what other machines have
 * shown.
 */
export function writeGolden(golden: Contract, present: Contract, python: Tree): void {
  const shapes = Object.entries(present.shapes).map(([kind, shape]) => {
    const before = golden.shapes[kind];
    return [kind, DEPENDS_ON_MACHINE.test(kind) && before !== undefined ? joinShapes(before, shape) : shape] as const;
  });
  writeFileSync(FILE, `${JSON.stringify({ names: present.names, shapes: Object.fromEntries(shapes), python }, null, 1)}\n`);
}
