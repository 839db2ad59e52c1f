import { join } from 'node:path';
import { checksumFiles } from './checksum-files.ts';
import type { DurableFs } from './durable-fs.ts';
import type { SealedFile } from '../../seal/manifest.ts';
import { isCode } from './store-error.ts';
import type { FoundFile } from './walk-files.ts';
import { writeBack } from './write-back.ts';

/**
 * Takes the checksums of a save's files during the save. It reads each file and starts its
 * write-back as soon as its writer is done, without waiting for the last file. The caller must know
 * when a file is complete. The receipt reads a file again that changed since.
 */
export class EarlyChecksums {
  readonly #fs: DurableFs;
  readonly #folder: string;
  readonly #taken = new Map<string, { readonly file: FoundFile; readonly sealed: SealedFile }>();
  readonly #stopped = new AbortController();
  #waiting: string[] = [];
  #reading: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;

  /** `folder` holds the staged data of the save. */
  constructor(fs: DurableFs, folder: string) {
    this.#fs = fs;
    this.#folder = folder;
  }

  /** Adds a file, by its path below the folder: its writer is done with it. */
  add(path: string): void {
    this.#waiting.push(path);
    this.#reading ??= this.#read();
  }

  /**
   * Adds the checksums that the writer of a file took itself, and the state in which it left the
   * file.
   */
  know(file: FoundFile, sealed: SealedFile): void {
    this.#taken.set(file.path, { file, sealed });
  }

  /**
   * Ends the save: returns the checksums of each file that was read and is unchanged, null for the
   * others. The caller reads the others together, which is faster once no writer needs a core.
   */
  async of(files: readonly FoundFile[]): Promise<readonly (SealedFile | null)[]> {
    this.#waiting = [];
    await this.#reading;
    // The kernel may report a disk error only once, so no later sync is sure to see it.
    if (this.#failure !== null) throw this.#failure.error;
    return files.map((file) => {
      const taken = this.#taken.get(file.path);
      return taken !== undefined && isSame(taken.file, file) ? taken.sealed : null;
    });
  }

  /** Stops reading, because the save was aborted. */
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
      // The receipt will meet the same error, and reports it to its caller.
      return null;
    }
  }
}

function isSame(a: FoundFile, b: FoundFile): boolean {
  return a.size === b.size && a.mtimeMs === b.mtimeMs && a.device === b.device && a.inode === b.inode;
}
