import { at } from '../../checkpoint/store/layout.ts';
import { listPins, pin, unpin } from '../../checkpoint/store/pins.ts';
import { replaceFile } from '../../checkpoint/store/replace-file.ts';
import type { SealedCheckpoint } from '../../checkpoint/store/scan.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';

/** Notes which pin is ours, so that one that a killed process left is taken away by the next. */
const noteOf = ({ path }: OpenStore): string => at.store(path, 'held-for-shipping');

/**
 * Keeps retention from deleting a checkpoint while it is sent: where saves come faster than copies get through, none would ever arrive. What comes
 * back lets go of it. A checkpoint that a person has pinned stays pinned.
 */
export function holdWhileSent(store: OpenStore, checkpoint: SealedCheckpoint): () => void {
  const { name } = checkpoint;
  return quietly(
    () => {
      if (listPins(store).has(name)) return () => {};
      replaceFile(store.fs, noteOf(store), name, store.makeId());
      pin(store, checkpoint);
      return () => releaseHeld(store);
    },
    () => {},
  );
}

/** Lets go of what this process, or one before it, has held. */
export function releaseHeld(store: OpenStore): void {
  quietly(() => {
    const note = noteOf(store);
    if (store.fs.stat(note)?.kind !== 'file') return;
    const name = store.fs.readFile(note).toString('utf8');
    if (listPins(store).has(name)) unpin(store, name);
    store.fs.unlink(note);
  }, undefined);
}

/** A folder that cannot be written is no reason not to ship. */
function quietly<T>(act: () => T, otherwise: T): T {
  try {
    return act();
  } catch {
    return otherwise;
  }
}
