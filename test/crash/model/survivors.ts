import type { Rng } from '../../../src/core/rng.ts';

/**
 * With more sets of surviving changes than this at one instant, the model samples them instead of
 * enumerating them.
 */
const ALL_SETS_UP_TO = 512;
/** Sets drawn at random beyond the systematic ones, if the model does not enumerate all. */
const DRAWN_SETS = 64;

/**
 * The sets of changes that may be on disk. Every set holds the durable changes and, with each
 * change, the changes that it depends on. `dependencies[i]` are positions before `i`; `durable`
 * must be closed under them.
 */
export function survivorSets(dependencies: readonly (readonly number[])[], durable: ReadonlySet<number>, rng: Rng): Set<number>[] {
  const pending = dependencies.map((_, position) => position).filter((position) => !durable.has(position));
  const all: Set<number>[] = [];
  const complete = enumerate({ dependencies, pending, all }, 0, new Set(durable));
  return complete ? all : cover(dependencies, durable, rng);
}

interface Enumeration {
  readonly dependencies: readonly (readonly number[])[];
  readonly pending: readonly number[];
  readonly all: Set<number>[];
}

/** False when there are too many. */
function enumerate(job: Enumeration, index: number, chosen: Set<number>): boolean {
  const position = job.pending[index];
  if (position === undefined) {
    job.all.push(new Set(chosen));
    return job.all.length <= ALL_SETS_UP_TO;
  }
  if (!enumerate(job, index + 1, chosen)) return false;
  if (!(job.dependencies[position] ?? []).every((needed) => chosen.has(needed))) return true;
  chosen.add(position);
  const complete = enumerate(job, index + 1, chosen);
  chosen.delete(position);
  return complete;
}

/**
 * Each change alone with what it needs, everything without each change, every prefix, every pair of
 * lost changes, and some drawn ones.
 */
function cover(dependencies: readonly (readonly number[])[], durable: ReadonlySet<number>, rng: Rng): Set<number>[] {
  const positions = dependencies.map((_, position) => position);
  const pending = positions.filter((position) => !durable.has(position));
  const sets = new Map<string, Set<number>>();
  const keep = (lost: (position: number) => boolean): void => {
    const set = closeDownwards(dependencies, durable, lost);
    sets.set([...set].join(), set);
  };
  for (const one of pending) {
    const needed = below(dependencies, one);
    keep((position) => !needed.has(position));
    keep((position) => position > one);
    for (const other of pending) keep((position) => position === one || position === other);
  }
  keep(() => true);
  for (let draw = 0; draw < DRAWN_SETS; draw++) {
    const share = rng.next();
    keep(() => rng.next() < share);
  }
  return [...sets.values()];
}

/** The changes that remain when these changes, and all that need them, are lost. */
function closeDownwards(
  dependencies: readonly (readonly number[])[],
  durable: ReadonlySet<number>,
  lost: (position: number) => boolean,
): Set<number> {
  const kept = new Set<number>();
  for (const [position, needed] of dependencies.entries()) {
    if (durable.has(position) || (needed.every((one) => kept.has(one)) && !lost(position))) kept.add(position);
  }
  return kept;
}

/** A change and everything it needs. */
export function below(dependencies: readonly (readonly number[])[], position: number): Set<number> {
  const found = new Set<number>();
  const todo = [position];
  for (let one = todo.pop(); one !== undefined; one = todo.pop()) {
    if (found.has(one)) continue;
    found.add(one);
    todo.push(...(dependencies[one] ?? []));
  }
  return found;
}
