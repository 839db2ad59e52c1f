import { LIMITS } from '../../../core/hostile-limits.ts';
import type { ByteSource } from '../../../bytes/source/byte-source.ts';
import { type BtreeNode, MOST_KEYS, type NodeEntry, readBtreeNode } from './btree-node.ts';
import { asText, type Place } from './record-columns.ts';
import type { DataFiles } from './data-files.ts';
import { type FrameKind, type FrameProblem, readFrame } from './frame.ts';
import { readVersionNode, type Version, type VersionList } from './versions.ts';

/**
 * A value of the newest version. An inline value lies in its node (usually compressed with it), and
 * the node's checksum covers it. Any other value lies in a data file; it is null when the file is
 * missing or ends before the value.
 */
export type Value =
  | { readonly inline: Buffer; readonly node: ByteSource }
  | { readonly source: ByteSource | null; readonly length: number };

/** Receives the values and the problems of a walk over the tree. */
export interface Walker {
  /** Called for every key of the newest version, in order. */
  onValue(key: string, value: Value): void;
  /** Called for a node that is unreadable. */
  onProblem(problem: FrameProblem, file: string, offset: number): void;
}

const MAX_NODES = 100_000;
/** The most bytes of all nodes, as stored plus as decoded. */
const MAX_NODE_BYTES = 512 * 1024 * 1024;
const MAX_KEY_CHARACTERS = 512 * 1024 * 1024;
/** The most characters of the keys that lead to nodes still to visit. */
const MAX_WAITING_CHARACTERS = 32 * 1024 * 1024;

interface Task {
  readonly place: Place;
  readonly height: number;
  /** True when its values belong to the newest version. */
  readonly isNewest: boolean;
  /** The full prefix of all keys below, and the least of those keys. */
  readonly prefix: string;
  readonly least: string;
}

/**
 * Walks the B-trees of a database, newest version first, and inspects every node and every place
 * they name. Older versions share most nodes with newer ones, and each shared node is visited once.
 * The walk is bounded, because a node's children must be one lower than the node.
 */
export class DatabaseWalk {
  readonly #files: DataFiles;
  /** Path from the start of `files` to the database. */
  readonly #folder: string;
  readonly #walker: Walker;
  /** Places of nodes already read, by file, because paths can be long and places many. */
  readonly #seen = new Map<string, Set<string>>();
  #nodes = 0;
  #bytes = 0;
  #entries = 0;
  #keyCharacters = 0;
  #waitingCharacters = 0;
  #stopped = false;

  constructor(files: DataFiles, folder: string, walker: Walker) {
    this.#files = files;
    this.#folder = folder;
    this.#walker = walker;
  }

  walk({ versions, nodes }: VersionList): void {
    for (const [i, version] of versions.toReversed().entries()) this.#walkVersion(version, i === 0);
    const pending = nodes.map(({ place, height }) => ({ place, height }));
    for (let next = pending.pop(); next !== undefined && !this.#stopped; next = pending.pop()) {
      const node = this.#read(next.place, 'versionNode', readVersionNode);
      if (node === null) continue;
      for (const version of node.versions) this.#walkVersion(version, false);
      for (const child of node.nodes) if (child.height < next.height) pending.push(child);
    }
  }

  #walkVersion({ root, height }: Version, isNewest: boolean): void {
    if (root === null) return;
    const pending: Task[] = [{ place: root, height, isNewest, prefix: '', least: '' }];
    for (let task = pending.pop(); task !== undefined && !this.#stopped; task = pending.pop()) {
      if (this.#isSeen(task.place)) {
        // In one tree every node has one parent; older versions share their nodes with newer ones.
        if (isNewest) this.#report(task.place, { problem: 'corrupt', says: 'has more than one parent' });
        continue;
      }
      const node = this.#read(task.place, 'btreeNode', readBtreeNode);
      if (node !== null) this.#visit(node, task, pending);
    }
  }

  #visit(node: BtreeNode, task: Task, pending: Task[]): void {
    if (node.height !== task.height) {
      this.#report(task.place, { problem: 'corrupt', says: `is of height ${node.height} where one of ${task.height} belongs` });
      return;
    }
    if (node.count > MOST_KEYS) {
      this.#stop(task.place, `has ${node.count} keys, at most ${MOST_KEYS} are read of one node`);
      return;
    }
    if (node.height > 0 && node.count > MAX_NODES) {
      this.#stop(task.place, `has ${node.count} children, at most ${MAX_NODES} nodes are read`);
      return;
    }
    const children: Task[] = [];
    let isBelow = false;
    const isSound = node.forEach((entry) => {
      const key = task.prefix + entry.key;
      isBelow ||= key < task.least;
      this.#visitEntry(entry, key, task, children);
      return this.#spend(key.length, task.place);
    });
    if (isBelow) this.#report(task.place, { problem: 'corrupt', says: 'holds keys that belong before it' });
    if (!isSound) this.#report(task.place, { problem: 'corrupt', says: 'holds keys out of order or places that are none' });
    // Push the last child first, so that keys come in order.
    for (const child of children.reverse()) pending.push(child);
  }

  #visitEntry(entry: NodeEntry, key: string, task: Task, children: Task[]): void {
    const { isNewest } = task;
    if (entry.kind === 'child') {
      this.#waitingCharacters += key.length + task.prefix.length + entry.prefix.length;
      if (this.#waitingCharacters > MAX_WAITING_CHARACTERS) this.#stop(task.place, 'leads to nodes below keys that are too long');
      else children.push({ place: entry.place, height: task.height - 1, isNewest, prefix: task.prefix + entry.prefix, least: key });
    } else if (entry.kind === 'inline') {
      if (isNewest) this.#emitInline(asText(key), entry.value, task.place);
    } else {
      const source = this.#files.find(this.#folder, entry.place);
      if (isNewest) this.#walker.onValue(asText(key), { source, length: entry.place.length });
    }
  }

  #emitInline(key: string, inline: Buffer, place: Place): void {
    const node = this.#files.find(this.#folder, place);
    if (node !== null) this.#walker.onValue(key, { inline, node });
  }

  #read<T>(place: Place, kind: FrameKind, decode: (body: Buffer, base: string) => T | null): T | null {
    this.#note(place);
    const source = this.#files.find(this.#folder, place);
    if (source === null) return null;
    if (++this.#nodes > MAX_NODES || this.#bytes > MAX_NODE_BYTES || source.size > LIMITS.readBytes) {
      this.#stop(place, `is one too many or too large: at most ${MAX_NODES} nodes of ${MAX_NODE_BYTES} bytes together are read`);
      return null;
    }
    this.#bytes += source.size;
    const frame = readFrame(source.read(0, source.size), kind);
    if ('problem' in frame) {
      // A reference gives the length too, so a node that is "cut" contradicts its reference.
      this.#report(place, frame.problem === 'cut' ? { ...frame, problem: 'corrupt' } : frame);
      return null;
    }
    this.#bytes += frame.body.length;
    const node = decode(frame.body, place.base);
    if (node === null) this.#report(place, { problem: 'corrupt', says: 'is malformed inside' });
    return node;
  }

  #spend(keyCharacters: number, place: Place): boolean {
    this.#keyCharacters += keyCharacters;
    if (++this.#entries > LIMITS.entries || this.#keyCharacters > MAX_KEY_CHARACTERS) {
      this.#stop(place, `leads to more than ${LIMITS.entries} keys, or keys of more than ${MAX_KEY_CHARACTERS} characters`);
    }
    return !this.#stopped;
  }

  #stop(place: Place, says: string): void {
    if (!this.#stopped) this.#report(place, { problem: 'limit', says });
    this.#stopped = true;
  }

  #isSeen({ path, offset, length }: Place): boolean {
    return this.#seen.get(path)?.has(`${offset} ${length}`) === true;
  }

  #note({ path, offset, length }: Place): void {
    const places = this.#seen.get(path) ?? new Set<string>();
    this.#seen.set(path, places.add(`${offset} ${length}`));
  }

  #report({ path, offset }: Place, problem: FrameProblem): void {
    this.#walker.onProblem(problem, this.#folder + path, offset);
  }
}
