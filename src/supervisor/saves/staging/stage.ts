import type { Save } from '../../../store/commit/save.ts';
import type { OpenStore } from '../../../store/folder/store.ts';
import { toError } from '../../../core/errors.ts';
import { admitStage, type StageAdmission } from '../../../domain/grace/stage-admission.ts';
import type { RunLog } from '../../base/run-log.ts';
import type { RunOptions } from '../../settings/run-options.ts';
import { type Image, makeImage } from './image.ts';
import { KeptMemory } from './kept-memory.ts';
import { memoryFacts, memoryRequest } from './memory-facts.ts';
import { sweepStages } from './sweep-stages.ts';
import { findStageFolder, makeStageFolder, type StageFolder } from './stage-folder.ts';

/**
 * Opens the memory for the saves of a run; null: there is none, or staging is off. Throws for a
 * named place that cannot be used.
 */
export function openStage({ stage, env }: Pick<RunOptions, 'stage' | 'env'>, store: OpenStore, log: RunLog): Stage | null {
  const folder = findStageFolder(stage, store);
  if (folder === null) return null;
  void sweepStages(folder, store.owner);
  return new Stage({ folder, requestBytes: memoryRequest(env) }, store, log);
}

/** A rank that keeps memory from save to save. */
export interface KeepingRank {
  readonly pid: number;
}

/** The facts about a save that decide whether it goes to memory. */
export interface StageRequest {
  readonly save: Save;
  /** The processes that will write it. */
  readonly pids: readonly number[];
  /** The size of the last save; null: no save was ever made. */
  readonly lastBytes: number | null;
}

/**
 * The memory into which ranks write their saves first. The trainer continues as soon as its bytes
 * lie there, and they are copied to the disk behind it. There is one save at a time. Without room,
 * a save goes straight to the disk, and the reason is logged once.
 */
export class Stage {
  readonly folder: StageFolder;
  readonly #requestBytes: number | null;
  readonly #store: OpenStore;
  readonly #log: RunLog;
  readonly #told = new Set<string>();
  readonly #kept: KeptMemory;

  constructor(
    { folder, requestBytes }: { readonly folder: StageFolder; readonly requestBytes: number | null },
    store: OpenStore,
    log: RunLog,
  ) {
    this.folder = folder;
    this.#requestBytes = requestBytes;
    this.#store = store;
    this.#log = log;
    this.#kept = new KeptMemory(folder.path, store.owner);
  }

  /** Makes a folder in memory for the save; null: it goes straight to the disk. Never fails. */
  open({ save, pids, lastBytes }: StageRequest): Image | null {
    try {
      // The memory that a rank keeps shows how large its saves are, before it has made one.
      const known = lastBytes ?? (this.#kept.bytes === 0 ? null : this.#kept.bytes);
      const admission = this.#admit(known, this.#kept.linkedBytes, pids);
      if (admission.isAdmitted) {
        makeStageFolder(this.folder);
        return makeImage(this.folder.path, save, { ranks: pids.length, owner: this.#store.owner, dir: this.#store.path });
      }
      if (admission.why !== 'unmeasured') this.#tell(admission.why, admission.reason);
    } catch (thrown) {
      this.#tell('failed', toError(thrown).message);
    }
    return null;
  }

  /**
   * Makes a folder in memory in which a rank keeps this many bytes from save to save. Null, with
   * the reason: there is no room. Never fails.
   */
  keep(rank: KeepingRank, bytes: number): { readonly path: string | null; readonly reason: string | null } {
    this.#kept.release(rank);
    if (bytes === 0) return { path: null, reason: null };
    try {
      const admission = this.#admit(bytes, 0, [rank.pid]);
      if (!admission.isAdmitted) return { path: null, reason: admission.reason };
      makeStageFolder(this.folder);
      return { path: this.#kept.give(rank, bytes), reason: null };
    } catch (thrown) {
      return { path: null, reason: toError(thrown).message };
    }
  }

  /**
   * Notes whether the next save of this rank uses the memory that it keeps, or needs as much again.
   */
  links(rank: KeepingRank, isLinked: boolean): void {
    this.#kept.links(rank, isLinked);
  }

  /** Frees the memory of a rank that has left. */
  release(rank: KeepingRank): void {
    this.#kept.release(rank);
  }

  /** Frees the stage when no trainer runs any more. */
  close(): Promise<void> {
    return this.#kept.close();
  }

  #admit(lastBytes: number | null, keptBytes: number, pids: readonly number[]): StageAdmission {
    return admitStage({ lastBytes, keptBytes, ...memoryFacts(this.folder, this.#requestBytes, pids) });
  }

  #tell(why: string, reason: string): void {
    if (this.#told.has(why)) return;
    this.#told.add(why);
    const sentence = `saves go directly to the disk, not to memory first: ${reason}`;
    this.#log.say(sentence);
    this.#log.record({ kind: 'note', level: 'info', code: null, sentence });
  }
}
