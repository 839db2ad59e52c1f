import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isObject, type JsonObject, parseJson } from '../../checkpoint/json.ts';
import { at } from '../../checkpoint/store/layout.ts';
import { replaceFile } from '../../checkpoint/store/replace-file.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import { isCode } from '../../checkpoint/store/store-error.ts';

/** The folder in which the nodes of one gang leave each other small files. Each file has one writer. */
export class GangPlace {
  readonly #store: OpenStore;
  readonly #folder: string;

  constructor(store: OpenStore, id: string) {
    this.#store = store;
    // A job may have any name; a file may not.
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

  /** Null when it is not there, or is nothing that one of us wrote. */
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
