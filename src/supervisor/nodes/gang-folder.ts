import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isObject, type JsonObject, parseJson } from '../../core/json.ts';
import { at } from '../../seal/names.ts';
import { replaceFile } from '../../store/disk/replace-file.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { isCode } from '../../store/disk/store-error.ts';

/** The folder in which the nodes of one gang exchange small files. Each file has one writer. */
export class GangPlace {
  readonly #store: OpenStore;
  readonly #folder: string;

  constructor(store: OpenStore, id: string) {
    this.#store = store;
    // A file name for the job: a job may have any name, but a file may not.
    this.#folder = at.store(store.path, 'gangs', createHash('sha256').update(id).digest('hex').slice(0, 16));
    for (const folder of [at.store(store.path, 'gangs'), this.#folder]) {
      try {
        store.fs.mkdir(folder);
      } catch (thrown) {
        if (!isCode(thrown, 'EEXIST')) throw thrown;
      }
    }
  }

  write(name: string, value: JsonObject): void {
    replaceFile(this.#store.fs, join(this.#folder, name), `${JSON.stringify(value)}\n`, this.#store.makeId());
  }

  /** The content of a node's file; null when it is missing, or was not written by Holdfast. */
  read(name: string): JsonObject | null {
    try {
      const json = parseJson(this.#store.fs.readFile(join(this.#folder, name)).toString('utf8'));
      return json.ok && isObject(json.value) ? json.value : null;
    } catch (thrown) {
      if (isCode(thrown, 'ENOENT')) return null;
      throw thrown;
    }
  }
}
