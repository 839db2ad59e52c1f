import type { ApiObject } from '../api/api-object.ts';

/** A write, as a watch reports it. */
export interface Change {
  readonly version: number;
  readonly type: 'added' | 'modified' | 'deleted';
  readonly object: ApiObject;
  /** The object before the write, which tells a selecting watch whether it knew the object. */
  readonly before: ApiObject | null;
}

/** The writes of one kind that the API server still remembers, oldest first. */
export class History {
  #changes: Change[] = [];
  /** The newest version that is forgotten: a watch cannot continue from an older one. */
  #forgotten = 0;
  readonly #waiting = new Set<() => void>();

  add(change: Change): void {
    this.#changes.push(change);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** The first change after a version; null: none yet. `gone`: it is forgotten. */
  after(version: number): Change | null | 'gone' {
    if (version < this.#forgotten) return 'gone';
    // The versions are sorted, so the first later one is found by halves.
    let [low, high] = [0, this.#changes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#changes[middle]?.version ?? 0) > version) high = middle;
      else low = middle + 1;
    }
    return this.#changes[low] ?? null;
  }

  /** Forgets the writes up to this version, as the API server does after some minutes. */
  compact(version: number): void {
    this.#changes = this.#changes.filter((change) => change.version > version);
    this.#forgotten = Math.max(this.#forgotten, version);
  }

  /** Waits for the next write. */
  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#waiting.delete(wake);
        reject(signal.reason as Error);
      };
      const wake = (): void => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.add(wake);
    });
  }
}
