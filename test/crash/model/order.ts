import type { DiskEvent } from './events.ts';

/** A change of names, and its place in the sequence of events. */
export interface NameChange {
  readonly at: number;
  readonly event: Extract<DiskEvent, { kind: 'names' }>;
}

/**
 * How a file system may order changes of names that nobody synced. Each is a relation "the later one is on disk only if the earlier one is":
 *
 * - `journal`: all of them, in the order they were made: one journal for the whole file system (ext4, xfs).
 * - `folder`: those that share a folder; different folders go their own ways.
 * - `weakest`: only where the later one could not have been made without the earlier: it moves, replaces or removes the very name that the
 *   earlier one made, or takes a name that the earlier one freed.
 *
 * A rename is one change in all of them: it is on disk with both of its names or not at all.
 */
export type Order = 'journal' | 'folder' | 'weakest';
export const ORDERS: readonly Order[] = ['journal', 'folder', 'weakest'];

function mustFollow(order: Order, later: NameChange, earlier: NameChange): boolean {
  switch (order) {
    case 'journal':
      return true;
    case 'folder':
      return foldersOf(later).some((folder) => foldersOf(earlier).includes(folder));
    case 'weakest':
      return sharesName(later, earlier);
  }
}

export function foldersOf({ event }: NameChange): number[] {
  return [...event.adds, ...event.removes].map((entry) => entry.folder);
}

function sharesName(later: NameChange, earlier: NameChange): boolean {
  const before = [...earlier.event.adds, ...earlier.event.removes];
  return [...later.event.adds, ...later.event.removes].some((one) =>
    before.some((other) => other.folder === one.folder && other.name === one.name),
  );
}

/** For each change, the earlier ones it cannot be without, direct ones only. */
export function dependencies(order: Order, changes: readonly NameChange[]): number[][] {
  return changes.map((later, index) => {
    if (order === 'journal') return index === 0 ? [] : [index - 1];
    return changes.slice(0, index).flatMap((earlier, position) => (mustFollow(order, later, earlier) ? [position] : []));
  });
}
