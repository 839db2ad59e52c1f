import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDead } from '../../../store/disk/process-identity.ts';
import { dropImage, OWNER } from './image.ts';

const KEPT = 'kept-';

interface Held {
  readonly folder: string;
  readonly bytes: number;
  /** The rank's saves are links to this memory. */
  isLinked: boolean;
}

/**
 * Folders in the stage in which ranks keep a file from save to save, because preparing new memory
 * costs seconds. The rank links the file into the folder of a save. Sealing then drops only the
 * link, and the memory stays with the rank. Nothing in these folders is ever a save by itself.
 */
export class KeptMemory {
  readonly #stage: string;
  readonly #owner: string | null;
  readonly #held = new Map<object, Held>();
  #made = 0;
  #leaving: Promise<void> = Promise.resolve();

  constructor(stage: string, owner: string | null) {
    this.#stage = stage;
    this.#owner = owner;
  }

  /** The bytes that all ranks keep. */
  get bytes(): number {
    return this.#held.values().reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The bytes that the next save finds here, so that it needs no other memory for them. */
  get linkedBytes(): number {
    return this.#held.values().reduce((sum, { bytes, isLinked }) => sum + (isLinked ? bytes : 0), 0);
  }

  /** Notes whether the saves of this rank are links to what it keeps. */
  links(rank: object, isLinked: boolean): void {
    const held = this.#held.get(rank);
    if (held !== undefined) held.isLinked = isLinked;
  }

  /** Makes a folder for this rank and drops the one that it had. The stage folder must exist. */
  give(rank: object, bytes: number): string {
    this.release(rank);
    const folder = join(this.#stage, `${KEPT}${process.pid}-${++this.#made}`);
    mkdirSync(folder, { mode: 0o700 });
    if (this.#owner !== null) writeFileSync(join(folder, `${OWNER}${this.#owner}`), '');
    this.#held.set(rank, { folder, bytes, isLinked: false });
    return folder;
  }

  /**
   * Frees the memory of a rank that has left or needs it no more. Saves that it has handed over are
   * links, and stay.
   */
  release(rank: object): void {
    const held = this.#held.get(rank);
    if (held === undefined) return;
    this.#held.delete(rank);
    const gone = dropImage(held.folder);
    this.#leaving = this.#leaving.then(() => gone);
  }

  /** Resolves when no memory is kept any more. */
  async close(): Promise<void> {
    for (const rank of [...this.#held.keys()]) this.release(rank);
    await this.#leaving;
  }
}

/** Returns true for the folder of a supervisor that is certainly gone. */
export function isForsaken(folder: string, self: string | null): boolean {
  if (!basename(folder).startsWith(KEPT)) return false;
  const owners = readdirSync(folder).filter((name) => name.startsWith(OWNER));
  return owners.length > 0 && owners.every((name) => isDead(name.slice(OWNER.length), self));
}
