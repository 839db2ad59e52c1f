import type { Operation } from './operation.ts';
import { describe } from './operation.ts';
import type { Tree } from './tree.ts';

/**
 * A name in a folder. Folders and files are numbers, like inodes: a rename does not change the
 * file.
 */
export interface Entry {
  readonly folder: number;
  readonly name: string;
  readonly inode: number;
}

/** A request to the disk. `step` is its operation. */
export type DiskEvent = { readonly step: string } & (
  | { readonly kind: 'names'; readonly adds: readonly Entry[]; readonly removes: readonly Entry[] }
  | { readonly kind: 'data'; readonly inode: number; readonly content: Uint8Array }
  | { readonly kind: 'sync-file'; readonly inode: number }
  | { readonly kind: 'sync-folder'; readonly inode: number }
  | { readonly kind: 'promise'; readonly name: string }
);

export const ROOT_INODE = 0;

/** A recorded log in terms of inodes, with the durable tree at its start. */
export interface Recording {
  readonly entries: readonly Entry[];
  /** Bytes of the files that existed before; they are durable. */
  readonly contents: ReadonlyMap<number, Uint8Array>;
  readonly folders: ReadonlySet<number>;
  readonly events: readonly DiskEvent[];
}

/** Resolves the paths of a log: the effect of each operation on names, data and promises. */
export function resolveLog(before: Tree, log: readonly Operation[]): Recording {
  const names = new Namespace(before);
  const entries = [...names.byPath.values()];
  const contents = new Map(names.contents);
  return { entries, contents, events: log.flatMap((operation) => names.events(operation)), folders: names.folders };
}

class Namespace {
  readonly byPath = new Map<string, Entry>();
  readonly contents = new Map<number, Uint8Array>();
  readonly folders = new Set([ROOT_INODE]);
  #next = ROOT_INODE + 1;

  constructor(tree: Tree) {
    for (const [path, content] of tree) {
      const entry = this.#make(path);
      if (content === null) this.folders.add(entry.inode);
      else this.contents.set(entry.inode, content);
    }
  }

  events(operation: Operation): DiskEvent[] {
    const step = describe(operation);
    switch (operation.kind) {
      case 'mkdir': {
        const entry = this.#make(operation.path);
        this.folders.add(entry.inode);
        return [{ step, kind: 'names', adds: [entry], removes: [] }];
      }
      case 'write': {
        const entry = this.#make(operation.path);
        return [
          { step, kind: 'names', adds: [entry], removes: [] },
          { step, kind: 'data', inode: entry.inode, content: operation.data },
        ];
      }
      case 'fill':
        return [{ step, kind: 'data', inode: this.#inode(operation.path), content: operation.data }];
      case 'link':
        return [{ step, kind: 'names', adds: [this.#link(operation.from, operation.to)], removes: [] }];
      case 'rename':
        return [{ step, kind: 'names', ...this.#move(operation.from, operation.to) }];
      case 'unlink':
      case 'rmdir':
        return [{ step, kind: 'names', adds: [], removes: [this.#take(operation.path)] }];
      case 'sync-file':
      case 'sync-folder':
        return [{ step, kind: operation.kind, inode: this.#inode(operation.path) }];
      case 'promise':
        return [{ step, kind: 'promise', name: operation.name }];
    }
  }

  #make(path: string): Entry {
    const entry = { ...this.#place(path), inode: this.#next };
    this.#next += 1;
    this.byPath.set(path, entry);
    return entry;
  }

  #link(from: string, to: string): Entry {
    const entry = { ...this.#place(to), inode: this.#inode(from) };
    this.byPath.set(to, entry);
    return entry;
  }

  #move(from: string, to: string): { adds: Entry[]; removes: Entry[] } {
    const replaced = this.byPath.get(to);
    const source = this.#take(from);
    const removes = replaced === undefined ? [source] : [source, replaced];
    const target = { ...this.#place(to), inode: source.inode };
    for (const [path, entry] of [...this.byPath]) {
      if (!path.startsWith(`${from}/`)) continue;
      this.byPath.delete(path);
      this.byPath.set(to + path.slice(from.length), entry);
    }
    this.byPath.set(to, target);
    return { adds: [target], removes };
  }

  #take(path: string): Entry {
    const entry = this.byPath.get(path);
    if (entry === undefined) throw new Error(`the log uses ${path}, which is not there`);
    this.byPath.delete(path);
    return entry;
  }

  #place(path: string): { folder: number; name: string } {
    const slash = path.lastIndexOf('/');
    return { folder: this.#inode(path.slice(0, Math.max(0, slash))), name: path.slice(slash + 1) };
  }

  #inode(path: string): number {
    if (path === '') return ROOT_INODE;
    const entry = this.byPath.get(path);
    if (entry === undefined) throw new Error(`the log uses ${path}, which is not there`);
    return entry.inode;
  }
}
