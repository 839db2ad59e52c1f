import { createRng } from '../../../src/core/rng.ts';
import { type DiskEvent, resolveLog } from '../model/events.ts';
import { describe, type Operation } from '../model/operation.ts';
import type { Order } from '../model/order.ts';
import { type CrashState, crashStates } from '../model/states.ts';
import { entryKey, treeKey } from '../model/tree.ts';
import { faultsAtOnce, faultsOfStart, type Remains, STARTERS } from './judge.ts';
import { below, type RemoteRecording, treeAfter } from './scenario.ts';

/** A state after a crash. */
export interface Remaining {
  /** The last change before the crash, for people. */
  readonly after: string;
  /** What is wrong with it as it lies there. */
  readonly look: () => readonly string[];
  /** What is wrong with what the next nodes do. */
  readonly start: () => Promise<readonly string[]>;
}

/** Which requests reach the disk; all, unless a protocol with a mistake leaves some out. */
type Reaches = (event: DiskEvent) => boolean;
const EVERYTHING: Reaches = () => true;

/** The node that acts is killed right after each of its changes. It starts again, or others do. */
export function kills(recording: RemoteRecording, isForeign = false): readonly Remaining[] {
  const { before, log } = recording;
  const found = new Map<string, Remaining>();
  for (let count = 0; count <= log.length; count++) {
    const done = log.slice(0, count);
    const tree = treeAfter(before, done);
    const promises = promisesIn(done);
    const remains = { copies: below(tree, 'copies'), node: isForeign ? null : below(tree, 'node'), promises };
    const last = done.at(-1);
    const key = `${treeKey([...tree].map(([path, content]) => [path, entryKey(content)]))} ${[...promises].join()}`;
    if (!found.has(key)) found.set(key, remaining(recording, remains, last === undefined ? 'nothing' : describe(last)));
  }
  return [...found.values()];
}

/** The power fails where the copies are; the node that acted is lost. */
export function cutsOfCopies(recording: RemoteRecording, order: Order, reaches = EVERYTHING): readonly Remaining[] {
  return cutsOf(recording, 'copies', order, reaches).map(({ tree, promises, after }) =>
    remaining(recording, { copies: below(tree, 'copies'), node: null, promises }, after),
  );
}

/**
 * The power fails on the node that acts. It finds the copies as they are in the end: whatever was
 * written there after the cut may be another node's.
 */
export function cutsOfNode(recording: RemoteRecording, order: Order, reaches = EVERYTHING): readonly Remaining[] {
  const copies = below(treeAfter(recording.before, recording.log), 'copies');
  return cutsOf(recording, 'node', order, reaches).map(({ tree, promises, after }) =>
    remaining(recording, { copies, node: below(tree, 'node'), promises }, after, ['the node itself']),
  );
}

function remaining(
  recording: RemoteRecording,
  remains: Remains,
  after: string,
  starters = Object.keys(STARTERS) as (keyof typeof STARTERS)[],
): Remaining {
  return {
    after,
    look: () => faultsAtOnce(recording, below(recording.before, 'copies'), remains),
    async start() {
      const faults: string[] = [];
      for (const starter of starters) faults.push(...(await faultsOfStart(recording, remains, starter)));
      return faults;
    },
  };
}

/** The states of one of the two disks, by the model of all crash states. */
function cutsOf({ before, log }: RemoteRecording, folder: string, order: Order, reaches: Reaches): readonly CrashState[] {
  const isInside = (path: string): boolean => path === folder || path.startsWith(`${folder}/`);
  const tree = new Map([...before].filter(([path]) => isInside(path)));
  const own = log.filter((operation) => pathsOf(operation).every((path) => path === '' || isInside(path)));
  const recording = resolveLog(tree, own);
  return crashStates({ ...recording, events: recording.events.filter(reaches) }, order, createRng(1));
}

function pathsOf(operation: Operation): readonly string[] {
  switch (operation.kind) {
    case 'rename':
    case 'link':
      return [operation.from, operation.to];
    case 'promise':
      return [];
    case 'mkdir':
    case 'write':
    case 'fill':
    case 'sync-file':
    case 'sync-folder':
    case 'unlink':
    case 'rmdir':
      return [operation.path];
  }
}

function promisesIn(log: readonly Operation[]): ReadonlySet<string> {
  return new Set(log.flatMap((operation) => (operation.kind === 'promise' ? [operation.name] : [])));
}
