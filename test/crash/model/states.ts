import type { Rng } from '../../../src/core/rng.ts';
import { damageChoices, damaged } from './contents.ts';
import { type DiskEvent, type Entry, type Recording, ROOT_INODE } from './events.ts';
import { below, survivorSets } from './survivors.ts';
import { dependencies, foldersOf, type NameChange, type Order } from './order.ts';
import { entryKey, type Tree, treeKey } from './tree.ts';

/** A state of the disk that a crash may leave, and the promises made before that crash. */
export interface CrashState {
  readonly tree: Tree;
  /** Equal for equal trees. */
  readonly key: string;
  /** The promises made before the latest crash that leaves this state. */
  readonly promises: ReadonlySet<string>;
  /** The last event before the crash, for people. */
  readonly after: string;
}

/**
 * Every distinct state that a crash at any instant of the recording may leave, the strictest
 * promise with each.
 *
 * Only the instants just before a sync or a promise, and the end, need a look: they hold all
 * states. Any other event may be lost, so the states before it are among the states of the next
 * instant. A sync only removes states.
 */
export function crashStates(recording: Recording, order: Order, rng: Rng): CrashState[] {
  const states = new Map<string, CrashState>();
  for (const instant of tellingInstants(recording.events)) {
    const events = recording.events.slice(0, instant);
    const promises = new Set(events.flatMap((event) => (event.kind === 'promise' ? [event.name] : [])));
    const after = events.at(-1)?.step ?? 'nothing';
    for (const { key, makeTree } of statesAfter(recording, events, order, rng)) {
      const known = states.get(key);
      if (known === undefined || known.promises.size < promises.size)
        states.set(key, { tree: known?.tree ?? makeTree(), key, promises, after });
    }
  }
  return [...states.values()];
}

function tellingInstants(events: readonly DiskEvent[]): number[] {
  const isSync = (event: DiskEvent | undefined): boolean => event?.kind === 'sync-file' || event?.kind === 'sync-folder';
  const instants = events.flatMap((event, at) => ((isSync(event) || event.kind === 'promise') && !isSync(events[at - 1]) ? [at] : []));
  return isSync(events.at(-1)) ? instants : [...instants, events.length];
}

/** A state by its key. Most states repeat, so the tree is made on demand. */
interface FoundState {
  readonly key: string;
  readonly makeTree: () => Tree;
}

function* statesAfter(recording: Recording, events: readonly DiskEvent[], order: Order, rng: Rng): Generator<FoundState> {
  const changes = events.flatMap((event, at): NameChange[] => (event.kind === 'names' ? [{ at, event }] : []));
  const needs = dependencies(order, changes);
  const unsynced = unsyncedFiles(events);
  const contents = new Map(recording.contents);
  for (const event of events) if (event.kind === 'data') contents.set(event.inode, event.content);
  for (const survivors of survivorSets(needs, durableChanges(events, changes, needs), rng)) {
    const names = applied(
      recording.entries,
      changes.filter((_, position) => survivors.has(position)),
    );
    const paths = reachable(names, recording.folders);
    const whole = paths.map(([, inode]) => (recording.folders.has(inode) ? null : (contents.get(inode) ?? NOTHING)));
    const keys = paths.map(([path], index): [string, string] => [path, entryKey(whole[index] ?? null)]);
    // An empty file cannot be damaged.
    const open = [...paths.keys()].filter((index) => unsynced.has(paths[index]?.[1] ?? -1) && whole[index]?.length !== 0);
    for (const choice of damageChoices(open.length, rng)) {
      const damages = new Map(open.map((index, position) => [index, damaged(whole[index] ?? NOTHING, choice[position] ?? 'whole')]));
      const key = treeKey(keys.map((entry, index) => (damages.has(index) ? [entry[0], entryKey(damages.get(index) ?? null)] : entry)));
      yield { key, makeTree: () => new Map(paths.map(([path], index) => [path, damages.get(index) ?? whole[index] ?? null])) };
    }
  }
}

/**
 * Positions of the changes that a sync of a folder made durable, with the changes that they need.
 */
function durableChanges(events: readonly DiskEvent[], changes: readonly NameChange[], needs: readonly (readonly number[])[]): Set<number> {
  const durable = new Set<number>();
  const lastSync = new Map<number, number>();
  for (const [at, event] of events.entries()) if (event.kind === 'sync-folder') lastSync.set(event.inode, at);
  for (const [position, change] of changes.entries()) {
    if (!foldersOf(change).some((folder) => (lastSync.get(folder) ?? -1) > change.at)) continue;
    for (const one of below(needs, position)) durable.add(one);
  }
  return durable;
}

function unsyncedFiles(events: readonly DiskEvent[]): Set<number> {
  const unsynced = new Set<number>();
  for (const event of events) {
    if (event.kind === 'data') unsynced.add(event.inode);
    if (event.kind === 'sync-file') unsynced.delete(event.inode);
  }
  return unsynced;
}

/** The names of every folder after these changes. */
function applied(entries: readonly Entry[], changes: readonly NameChange[]): Map<number, Map<string, number>> {
  const folders = new Map<number, Map<string, number>>();
  const folder = (inode: number): Map<string, number> => {
    const known = folders.get(inode) ?? new Map<string, number>();
    folders.set(inode, known);
    return known;
  };
  for (const { folder: inode, name, inode: child } of entries) folder(inode).set(name, child);
  for (const { event } of changes) {
    for (const { folder: inode, name } of event.removes) folder(inode).delete(name);
    for (const { folder: inode, name, inode: child } of event.adds) folder(inode).set(name, child);
  }
  return folders;
}

const NOTHING = new Uint8Array();

/** Path and inode of every entry below the root, sorted, so that parents come first. */
function reachable(names: ReadonlyMap<number, ReadonlyMap<string, number>>, folders: ReadonlySet<number>): [string, number][] {
  const found: [string, number][] = [];
  const visit = (folder: number, prefix: string): void => {
    for (const [name, inode] of names.get(folder) ?? []) {
      found.push([prefix + name, inode]);
      if (folders.has(inode)) visit(inode, `${prefix}${name}/`);
    }
  };
  visit(ROOT_INODE, '');
  return found.sort(([one], [other]) => (one < other ? -1 : 1));
}
