import * as fs from 'node:fs/promises';
import { withFolderBeneath } from '../../../core/beneath.ts';
import { makeLastingFolders } from '../../../core/make-folders.ts';
import { isCode } from '../../../store/disk/store-error.ts';
import { syncFolder } from './file-handles.ts';

/** Another process may remove a folder in between. It is made again, a bounded number of times. */
const TRIES = 3;

/**
 * The folder of a directory store. Others may write there, too, so no link below it is followed,
 * neither to read nor to write nor to delete.
 */
export class StoreFolder {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Calls `use` with a path to the file of a key; its folder is held open meanwhile. */
  async at<T>(key: string, use: (real: string) => Promise<T>): Promise<T> {
    return withFolderBeneath(this.#root, folderOf(key), (real) => use(`${real}/${key.slice(key.lastIndexOf('/') + 1)}`));
  }

  /** Calls `use` with a path to the folder itself. */
  async into<T>(folder: string, use: (real: string) => Promise<T>): Promise<T> {
    return withFolderBeneath(this.#root, folder, (real) => use(`${real}/.`));
  }

  /** Makes the folder of a key and the missing ones above it, durably. */
  async makeFolderOf(key: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        makeLastingFolders(this.#root);
        for (const folder of foldersTo(key).slice(1)) await this.#make(folder);
        return;
      } catch (thrown) {
        if (!isCode(thrown, 'ENOENT') || tries === TRIES) throw thrown;
      }
    }
  }

  /**
   * Syncs the folder of a key and those above it: another process may have made them without
   * reaching its syncs.
   */
  async syncFoldersOf(key: string): Promise<void> {
    for (const folder of foldersTo(key).toReversed()) await this.into(folder, syncFolder);
  }

  async #make(folder: string): Promise<void> {
    try {
      await this.at(folder, async (real) => fs.mkdir(real));
    } catch (thrown) {
      if (!isCode(thrown, 'EEXIST')) throw thrown;
      return;
    }
    await this.into(folderOf(folder), syncFolder);
  }
}

function folderOf(key: string): string {
  return key.slice(0, Math.max(key.lastIndexOf('/'), 0));
}

/** The store's folder as '', and each folder from there down to that of the key. */
function foldersTo(key: string): readonly string[] {
  const names = key.split('/').slice(0, -1);
  return ['', ...names.map((_, index) => names.slice(0, index + 1).join('/'))];
}
