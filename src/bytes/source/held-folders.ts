import { join } from 'node:path';
import { type HeldFolder, openFolderBeneath } from '../../core/beneath.ts';

/**
 * Held at the same time: one for each level of the folders that are read now, and some that come up
 * again.
 */
const MOST_HELD = 32;

/**
 * The folders below a root that are held open, so that their names are looked up in these very
 * folders and no link that appears meanwhile is followed. Few are held: the least recently used one
 * is let go first, and opened again when needed.
 */
export class HeldFolders {
  readonly #root: string;
  readonly #held = new Map<string, HeldFolder>();

  /**
   * `root` is absolute and without links: one that appears on the way to it is not followed either.
   */
  constructor(root: string) {
    this.#root = root;
  }

  /**
   * A path to the folder `below` the root that stays valid until the next call. Fails like {@link
   * openFolderBeneath}.
   */
  at(below: string): string {
    const known = this.#held.get(below);
    if (known !== undefined) {
      this.#held.delete(below);
      this.#held.set(below, known);
      return known.at;
    }
    const folder = openFolderBeneath('/', join(this.#root, below).slice(1));
    this.#held.set(below, folder);
    if (this.#held.size > MOST_HELD) this.#letGoOfOldest();
    return folder.at;
  }

  /** Lets go of all of them. */
  close(): void {
    for (const folder of this.#held.values()) folder.close();
    this.#held.clear();
  }

  #letGoOfOldest(): void {
    for (const [below, folder] of this.#held) {
      folder.close();
      this.#held.delete(below);
      return;
    }
  }
}
