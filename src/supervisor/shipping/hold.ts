import { at } from '../../seal/names.ts';
import { replaceFile } from '../../store/disk/replace-file.ts';
import type { SealedCheckpoint } from '../../store/folder/scan.ts';
import type { OpenStore } from '../../store/folder/store.ts';

/**
 * Keeps retention from deleting a checkpoint during its upload; call the result to release it.
 * Without this, a run that saves faster than it ships would never finish a copy. A hold is separate
 * from the user's pins.
 */
export function holdWhileSent(store: OpenStore, { name }: SealedCheckpoint): () => void {
  return quietly(
    () => {
      replaceFile(store.fs, at.heldFile(store.path), name, store.makeId());
      return () => releaseHeld(store);
    },
    () => {},
  );
}

/** Releases the holds of this process and of a killed process before it. */
export function releaseHeld({ fs, path }: OpenStore): void {
  quietly(() => {
    if (fs.stat(at.heldFile(path))?.kind === 'file') fs.unlink(at.heldFile(path));
  }, undefined);
}

/** A folder that cannot be written does not stop the copy. */
function quietly<T>(act: () => T, otherwise: T): T {
  try {
    return act();
  } catch {
    return otherwise;
  }
}
