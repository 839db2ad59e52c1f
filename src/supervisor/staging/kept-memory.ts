import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDead } from '../../checkpoint/store/process-identity.ts';
import { dropImage, OWNER } from './image.ts';

const KEPT = 'kept-';

interface Held {
  readonly folder: string;
  readonly bytes: number;
  /** Its saves are made of it. */
  isLinked: boolean;
}

/**
 * Folders in the stage in which ranks keep a file from save to save, because getting it ready costs seconds. A rank links it into the folder of a save:
 * what is sealed there and then dropped is the link, and the memory stays with the rank. Nothing in here is ever a save by itself.
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

  /** What all ranks keep. */
  get bytes(): number {
    return this.#held.values().reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** What the next save needs no memory for beside. */
  get linkedBytes(): number {
    return this.#held.values().reduce((sum, { bytes, isLinked }) => sum + (isLinked ? bytes : 0), 0);
  }

  /** Whether the saves of this rank are made of what it keeps. */
  links(rank: object, isLinked: boolean): void {
    const held = this.#held.get(rank);
    if (held !== undefined) held.isLinked = isLinked;
  }

  /** A folder for this rank, in place of the one that it may have; the stage is there. */
  give(rank: object, bytes: number): string {
    this.release(rank);
    const folder = join(this.#stage, `${KEPT}${process.pid}-${++this.#made}`);
    mkdirSync(folder, { mode: 0o700 });
    if (this.#owner !== null) writeFileSync(join(folder, `${OWNER}${this.#owner}`), '');
    this.#held.set(rank, { folder, bytes, isLinked: false });
    return folder;
  }

  /** The rank has gone, or needs it no more. Saves that it has handed over are links, and stay. */
  release(rank: object): void {
    const held = this.#held.get(rank);
    if (held === undefined) return;
    this.#held.delete(rank);
    const gone = dropImage(held.folder);
    this.#leaving = this.#leaving.then(() => gone);
  }

  /** Resolves when nothing is kept any more. */
  async close(): Promise<void> {
    for (const rank of [...this.#held.keys()]) this.release(rank);
    await this.#leaving;
  }
}

/** True for what a supervisor kept for its ranks that is gone for certain. */
export function isForsaken(folder: string, self: string | null): boolean {
  if (!basename(folder).startsWith(KEPT)) return false;
  const owners = readdirSync(folder).filter((name) => name.startsWith(OWNER));
  return owners.length > 0 && owners.every((name) => isDead(name.slice(OWNER.length), self));
}
