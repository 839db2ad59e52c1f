import type { DiskEvent } from './events.ts';

/** A change of names, and its place in the sequence of events. */
export interface NameChange {
  readonly at: number;
  readonly event: Extract<DiskEvent, { kind: 'names' }>;
}

/**
 * How a file system may order unsynced changes of names. Each order is a relation "the later change
 * is on disk only if the earlier one is":
 *
 * - `journal`: all changes, in the order of the calls: one journal for the whole file system (ext4,
 * xfs).
 * - `folder`: changes in the same folder; different folders are independent.
 * - `weakest`: only where the later change needs the earlier one. It moves, replaces or removes a
 * name that the earlier one made, or takes a name that the earlier one freed.
 *
 * A rename is one change in all of them: both of its names are on disk, or neither.
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

/** For each change, the earlier changes that it needs; direct ones only. */
export function dependencies(order: Order, changes: readonly NameChange[]): number[][] {
  return changes.map((later, index) => {
    if (order === 'journal') return index === 0 ? [] : [index - 1];
    return changes.slice(0, index).flatMap((earlier, position) => (mustFollow(order, later, earlier) ? [position] : []));
  });
}
