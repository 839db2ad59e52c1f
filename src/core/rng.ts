/**
 * The only source of randomness. It is seeded, so that every random choice can be replayed from the
 * printed seed.
 */
export interface Rng {
  readonly seed: number;
  /** In [0, 1). */
  next(): number;
  /** A whole number, both ends included. */
  integer(min: number, max: number): number;
  /** One of the items; the list must not be empty. */
  pick<T>(items: readonly T[]): T;
  /** An independent stream named by the label; taking from one does not move the other. */
  fork(label: string): Rng;
}

/** A generator (sfc32) whose whole sequence follows from the seed, an unsigned 32-bit number. */
export function createRng(seed: number): Rng {
  const word = sfc32(seed >>> 0);
  const next = (): number => word() / 2 ** 32;
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    seed: seed >>> 0,
    next,
    integer,
    pick<T>(items: readonly T[]): T {
      if (items.length === 0) throw new RangeError('cannot pick from an empty list');
      return items[integer(0, items.length - 1)] as T;
    },
    fork: (label) => createRng(hash(label, seed >>> 0)),
  };
}

/** An unpredictable seed for a run that names none; the caller prints it. */
export function randomSeed(): number {
  return Math.floor(Math.random() * 2 ** 32);
}

function sfc32(seed: number): () => number {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  let c = seed;
  let counter = 1;
  const step = (): number => {
    const result = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + result) | 0;
    return result >>> 0;
  };
  // The first outputs still show the constants.
  for (let i = 0; i < 15; i++) step();
  return step;
}

/**
 * FNV-1a over the label, started from the parent's seed, then mixed. Without mixing, one bit of the
 * label could undo one bit of the seed.
 */
function hash(label: string, seed: number): number {
  let state = 0x811c9dc5 ^ mixed(seed);
  for (let i = 0; i < label.length; i++) state = Math.imul(state ^ label.charCodeAt(i), 0x01000193);
  return mixed(state);
}

/**
 * Every bit of the result depends on every bit of the word, and no two words have the same one (the
 * last step of MurmurHash3).
 */
function mixed(word: number): number {
  let state = word;
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}
