import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFile } from '../../core/read-regular.ts';
import type { Rank } from '../sdk/sdk-server.ts';

/** One number of 64 bits in this machine's byte order, as the rank maps it. */
const COUNTER_BYTES = 8;

/**
 * The step counters of the ranks. Each is a small file in a private folder; the rank maps it into
 * memory and writes its step there. The file keeps the last step when the rank is killed, so that
 * lost work is counted exactly.
 */
export class StepCounters {
  readonly #folder: string | null;
  readonly #files = new Map<Rank, string>();
  #made = 0;

  /** `folder`: only this user may enter it; null: there are no counters. */
  constructor(folder: string | null) {
    this.#folder = folder;
  }

  /**
   * Makes the counter of a rank. Null when it cannot be made; the rank then only reports its steps.
   */
  open(rank: Rank): string | null {
    if (this.#folder === null) return null;
    const known = this.#files.get(rank);
    if (known !== undefined) return known;
    const file = join(this.#folder, `step-${(this.#made += 1)}`);
    try {
      writeFileSync(file, new BigInt64Array([-1n]), { flag: 'wx', mode: 0o600 });
    } catch {
      return null;
    }
    this.#files.set(rank, file);
    return file;
  }

  /**
   * The newest step that a rank has counted; null when it does not count, or its counter is not
   * valid.
   */
  read(rank: Rank): number | null {
    const file = this.#files.get(rank);
    if (file === undefined) return null;
    try {
      const bytes = readRegularFile(file, COUNTER_BYTES);
      if (bytes.length !== COUNTER_BYTES) return null;
      const step = Number(new BigInt64Array(new Uint8Array(bytes).buffer)[0]);
      return Number.isSafeInteger(step) && step >= 0 ? step : null;
    } catch {
      return null;
    }
  }

  /** Forgets a rank that has left. Read its count before. */
  close(rank: Rank): void {
    const file = this.#files.get(rank);
    this.#files.delete(rank);
    if (file !== undefined) rmSync(file, { force: true });
  }
}
