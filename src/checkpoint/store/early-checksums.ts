import { join } from 'node:path';
import { checksumFiles } from './checksum-files.ts';
import type { DurableFs } from './durable-fs.ts';
import type { SealedFile } from './manifest.ts';
import { isCode } from './store-error.ts';
import type { FoundFile } from './walk-files.ts';
import { writeBack } from './write-back.ts';

/**
 * The checksums of a save's files, taken while the save goes on: each file is read, and sent on its way to the disk, as soon as its writer is
 * done with it, and not only when the last one is there. For whoever is told when a file is complete; what a receipt finds changed since is
 * read again.
 */
export class EarlyChecksums {
  readonly #fs: DurableFs;
  readonly #folder: string;
  readonly #taken = new Map<string, { readonly file: FoundFile; readonly sealed: SealedFile }>();
  readonly #stopped = new AbortController();
  #waiting: string[] = [];
  #reading: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;

  /** `folder` is where the save's data is staged. */
  constructor(fs: DurableFs, folder: string) {
    this.#fs = fs;
    this.#folder = folder;
  }

  /** The writer of this file, a path below the folder, is done with it. */
  add(path: string): void {
    this.#waiting.push(path);
    this.#reading ??= this.#read();
  }

  /** Whoever wrote this file took its checksums on the way, and left it like this. */
  know(file: FoundFile, sealed: SealedFile): void {
    this.#taken.set(file.path, { file, sealed });
  }

  /**
   * The save is over: the checksums of each file that was read by now and is still as it was, null for the others. With no writer to leave
   * a core to, these are read faster together.
   */
  async of(files: readonly FoundFile[]): Promise<readonly (SealedFile | null)[]> {
    this.#waiting = [];
    await this.#reading;
    // The kernel may tell an error of the disk only once: no later sync can be trusted to meet it again.
    if (this.#failure !== null) throw this.#failure.error;
    return files.map((file) => {
      const taken = this.#taken.get(file.path);
      return taken !== undefined && isSame(taken.file, file) ? taken.sealed : null;
    });
  }

  /** The save was given up: nothing more is read. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#reading;
  }

  async #read(): Promise<void> {
    for (let path = this.#waiting.shift(); path !== undefined; path = this.#waiting.shift()) await this.#take(path);
    this.#reading = null;
  }

  async #take(path: string): Promise<void> {
    const { signal } = this.#stopped;
    if (signal.aborted || this.#failure !== null) return;
    const file = this.#look(path);
    if (file === null) return;
    const [written, summed] = await Promise.allSettled([
      writeBack(this.#folder, [file], signal),
      checksumFiles(this.#folder, [file], { threads: 1, signal }),
    ]);
    if (written.status === 'rejected') {
      if (!signal.aborted && !isCode(written.reason, 'ENOENT')) this.#failure = { error: written.reason };
    } else if (summed.status === 'fulfilled' && summed.value.problems.length === 0) {
      const [sealed] = summed.value.files;
      if (sealed !== undefined) this.#taken.set(path, { file, sealed });
    }
  }

  #look(path: string): FoundFile | null {
    try {
      const { kind, ...facts } = this.#fs.stat(join(this.#folder, path)) ?? { kind: null };
      return kind === 'file' && 'size' in facts ? { path, ...facts } : null;
    } catch {
      // Whoever writes the receipt will meet the same, and has somebody to tell.
      return null;
    }
  }
}

function isSame(a: FoundFile, b: FoundFile): boolean {
  return a.size === b.size && a.mtimeMs === b.mtimeMs && a.device === b.device && a.inode === b.inode;
}
