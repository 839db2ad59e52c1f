import type { Save } from '../../checkpoint/store/save.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import { toError } from '../../core/errors.ts';
import { admitStage, type StageAdmission } from '../../domain/stage-admission.ts';
import type { Book } from '../book.ts';
import type { RunOptions } from '../options.ts';
import { type Image, makeImage } from './image.ts';
import { KeptMemory } from './kept-memory.ts';
import { memoryFacts, memoryRequest } from './memory-facts.ts';
import { sweepStages } from './sweep-stages.ts';
import { findStageFolder, makeStageFolder, type StageFolder } from './stage-folder.ts';

/** The memory for the saves of a run; null: there is none, or none is wanted. A named place that cannot be used is an error. */
export function openStage({ stage, env }: Pick<RunOptions, 'stage' | 'env'>, store: OpenStore, book: Book): Stage | null {
  const folder = findStageFolder(stage, store);
  if (folder === null) return null;
  void sweepStages(folder, store.owner);
  return new Stage({ folder, requestBytes: memoryRequest(env) }, store, book);
}

/** Who keeps memory from save to save. */
export interface KeepingRank {
  readonly pid: number;
}

/** What a save that could go to memory looks like. */
export interface StageRequest {
  readonly save: Save;
  /** The processes that will write it. */
  readonly pids: readonly number[];
  /** Of the last save; null: none was ever made. */
  readonly lastBytes: number | null;
}

/**
 * The memory in which saves land first: the trainer goes on as soon as its bytes lie there, and they are copied to the disk behind it. One at
 * a time, as the desk has it. Where there is no room a save goes to the disk at once, and the reason is told once.
 */
export class Stage {
  readonly folder: StageFolder;
  readonly #requestBytes: number | null;
  readonly #store: OpenStore;
  readonly #book: Book;
  readonly #told = new Set<string>();
  readonly #kept: KeptMemory;

  constructor(
    { folder, requestBytes }: { readonly folder: StageFolder; readonly requestBytes: number | null },
    store: OpenStore,
    book: Book,
  ) {
    this.folder = folder;
    this.#requestBytes = requestBytes;
    this.#store = store;
    this.#book = book;
    this.#kept = new KeptMemory(folder.path, store.owner);
  }

  /** A folder in memory for the save; null: it goes to the disk at once. Never fails. */
  open({ save, pids, lastBytes }: StageRequest): Image | null {
    try {
      // What a rank keeps memory for shows how large its saves are, before it has made one.
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

  /** A folder in memory in which a rank keeps so many bytes from save to save; null, with the reason: there is no room. Never fails. */
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

  /** Whether the next save of this rank is made of what it keeps, or needs as much again. */
  links(rank: KeepingRank, isLinked: boolean): void {
    this.#kept.links(rank, isLinked);
  }

  /** The rank is gone. */
  release(rank: KeepingRank): void {
    this.#kept.release(rank);
  }

  /** Nobody trains any more. */
  close(): Promise<void> {
    return this.#kept.close();
  }

  #admit(lastBytes: number | null, keptBytes: number, pids: readonly number[]): StageAdmission {
    return admitStage({ lastBytes, keptBytes, ...memoryFacts(this.folder, this.#requestBytes, pids) });
  }

  #tell(why: string, reason: string): void {
    if (this.#told.has(why)) return;
    this.#told.add(why);
    const sentence = `saves go to the disk at once and not to memory first: ${reason}`;
    this.#book.say(sentence);
    this.#book.record({ kind: 'note', level: 'info', code: null, sentence });
  }
}
