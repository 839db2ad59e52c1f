/** The stored state of an item that a worker wants to commit. */
export interface Standing {
  /** The newest token issued for the item. */
  readonly token: number;
  /** The generation in progress. */
  readonly generation: number;
  /**
   * Whether the newest token may still commit: its lease runs, or it ended without a report from
   * its worker.
   */
  readonly isOpen: boolean;
  /** The committed result for the worker’s generation, or null. */
  readonly result: string | null;
}

/** The commit that a worker sends. */
export interface HandedIn {
  readonly token: number;
  readonly generation: number;
  readonly result: string;
}

/**
 * `write`: the commit becomes the result. `same`: equal bytes are already committed, which counts
 * as success. `differs`: other bytes are committed; the new ones are kept for inspection. `fenced`:
 * a newer lease or generation took over, or the worker had returned the item.
 */
export type CommitVerdict = 'write' | 'same' | 'differs' | 'fenced';

/**
 * Decides a commit. A committed result is never replaced. Before that, only the newest token may
 * write.
 */
export function judgeCommit({ token, generation, isOpen, result }: Standing, handed: HandedIn): CommitVerdict {
  if (result !== null) return result === handed.result ? 'same' : 'differs';
  return generation === handed.generation && token === handed.token && isOpen ? 'write' : 'fenced';
}
