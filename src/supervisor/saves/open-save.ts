import type { Rank } from '../sdk/sdk-server.ts';
import type { SealedSave } from './sealing/seal-messages.ts';
import type { AskOptions } from './sealing/sealer.ts';

/** The paths that one rank uses to write its part of a save. */
export interface RankPlace {
  readonly path: string;
  /** The file that the rank creates when it has handed over; null: it only sends the message. */
  readonly mark: string | null;
  /** The file in which the rank lists the files that it wrote; null when it is the only rank. */
  readonly names: string | null;
}

/** What sealing needs beside the save itself. */
export interface SealFacts extends AskOptions {
  readonly writeMs: number;
}

/**
 * A save that the ranks can write. From the moment it is opened, it owns everything on the disk and
 * in memory for it. It is either sealed and then freed, or discarded.
 */
export interface OpenSave {
  /** The identity of the save. */
  readonly save: string;
  readonly step: number;
  readonly worldSize: number;
  /** The folder that the ranks write into. */
  readonly writesTo: string;
  placeOf(rank: number): RankPlace;
  /** True when the rank left its mark, even if its message was lost. */
  hasHandedOver(rank: number): boolean;
  /**
   * Seals the save. Call this when all ranks that are connected here have written. Throws when the
   * save has failed.
   */
  seal(ranks: readonly Rank[], facts: SealFacts): Promise<SealedSave>;
  /** Frees the memory of the sealed save. */
  free(): Promise<void>;
  /**
   * Removes what was written. Bytes on the disk are gone at once; bytes in memory are gone when
   * this resolves.
   */
  discard(): Promise<void>;
}

/** The ranks that have reached a step and wait for its folder. */
export interface Expected {
  readonly isAwaited: () => boolean;
  readonly signal: AbortSignal;
}

/** Opens saves, on this node alone or together with other nodes. */
export interface SaveStrategy {
  /**
   * Call this when the first rank has reached the step. Resolves when no rank waits any more;
   * rejects when `signal` is aborted.
   */
  readonly expect?: (step: number, expected: Expected) => Promise<void>;
  /**
   * Call this when all ranks that are connected here have reached the step. Throws when there is no
   * room.
   */
  open(step: number, ranks: readonly Rank[], signal: AbortSignal): Promise<OpenSave>;
}
