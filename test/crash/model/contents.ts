import type { Rng } from '../../../src/core/rng.ts';

/** What may be left of an unsynced file, by name. */
export type Damage = 'whole' | 'empty' | 'half' | 'one byte short' | 'zeros' | 'zero head' | 'zero tail' | 'stale';
const DAMAGES: readonly Damage[] = ['whole', 'empty', 'half', 'one byte short', 'zeros', 'zero head', 'zero tail', 'stale'];

/**
 * One object for each content and damage. Thousands of states share them, and equal objects need no
 * comparison.
 */
const made = new WeakMap<Uint8Array, Map<Damage, Uint8Array>>();

export function damaged(content: Uint8Array, damage: Damage): Uint8Array {
  const known = made.get(content) ?? new Map<Damage, Uint8Array>();
  made.set(content, known);
  const found = known.get(damage) ?? damagedAnew(content, damage);
  known.set(damage, found);
  return found;
}

function damagedAnew(content: Uint8Array, damage: Damage): Uint8Array {
  const middle = content.length >> 1;
  const copy = Uint8Array.from(content);
  switch (damage) {
    case 'whole':
      return content;
    case 'empty':
      return new Uint8Array();
    case 'half':
      return copy.subarray(0, middle);
    case 'one byte short':
      return copy.subarray(0, Math.max(0, copy.length - 1));
    case 'zeros':
      return copy.fill(0);
    case 'zero head':
      return copy.fill(0, 0, middle);
    case 'zero tail':
      return copy.fill(0, middle);
    case 'stale':
      // Blocks that belonged to another file before.
      return copy.fill(0x5a);
  }
}

/** Choices drawn at random beyond the systematic ones, where more than two files are unsynced. */
const DRAWN_CHOICES = 8;

/**
 * The damage of each of `files` unsynced files. Up to two files give all combinations. More files
 * give each file in each way, with the others whole and with the others empty. They also give all
 * files in the same way, and some drawn combinations.
 */
export function damageChoices(files: number, rng: Rng): (readonly Damage[])[] {
  if (files === 0) return [[]];
  if (files === 1) return DAMAGES.map((damage) => [damage]);
  if (files === 2) return DAMAGES.flatMap((first) => DAMAGES.map((second) => [first, second]));
  const choices: Damage[][] = DAMAGES.map((damage) => Array<Damage>(files).fill(damage));
  for (let file = 0; file < files; file++) {
    for (const damage of DAMAGES) {
      for (const rest of ['whole', 'empty'] as const)
        choices.push(Array.from({ length: files }, (_, index) => (index === file ? damage : rest)));
    }
  }
  for (let draw = 0; draw < DRAWN_CHOICES; draw++) choices.push(Array.from({ length: files }, () => rng.pick(DAMAGES)));
  return choices;
}
