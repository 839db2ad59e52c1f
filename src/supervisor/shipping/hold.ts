import { at } from '../../checkpoint/store/layout.ts';
import { replaceFile } from '../../checkpoint/store/replace-file.ts';
import type { SealedCheckpoint } from '../../checkpoint/store/scan.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';

/**
 * Keeps retention from deleting a checkpoint while it is sent: where saves come faster than copies get through, none would ever arrive. What comes
 * back lets go of it. It is no pin: what people pin and unpin meanwhile is theirs alone.
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

/** Lets go of what this process, or one before it that was killed, has held. */
export function releaseHeld({ fs, path }: OpenStore): void {
  quietly(() => {
    if (fs.stat(at.heldFile(path))?.kind === 'file') fs.unlink(at.heldFile(path));
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
