import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { startAttempt } from '../../../src/store/attempt/attempt.ts';
import { openRun, readRun } from '../../../src/store/folder/store.ts';
import { seal } from '../../support/sealed-run.ts';
import { MEMORY, tempFolder } from '../../support/temp-folder.ts';
import type { Operation } from '../model/operation.ts';
import { readTree, type Tree } from '../model/tree.ts';
import { recordCalls } from './recorded-calls.ts';

/** The folders of a scenario: the node that acts, and the prefix of the copies. */
export interface Places {
  readonly node: string;
  readonly copies: string;
  /** A run with step 10 of attempt 1, and the same with step 20 of attempt 2. */
  readonly older: string;
  readonly newer: string;
  /** A folder for files beside the runs. */
  readonly tmp: string;
}

/** What a node does with the copies of a run. */
export interface RemoteScenario {
  /** Makes the node and the copies, durable to the last byte. */
  readonly before: (places: Places) => Promise<void>;
  /** The recorded work. It calls `promise` where a caller gets an answer. */
  readonly act: (places: Places, promise: (answer: Answer) => void) => Promise<void>;
  /** The node is of another run, and must be refused once the copies have an owner. */
  readonly isForeign?: true;
}

/** An answer to a caller: a step was shipped, or an attempt has started. */
export type Answer = `shipped ${number}` | `attempt ${number}`;

/** Everything that a scenario changed, and what its checkpoints look like. */
export interface RemoteRecording {
  readonly before: Tree;
  readonly log: readonly Operation[];
  /** The run whose copies these are. */
  readonly run: string;
  /** By name: the files of every checkpoint that a node has sealed. */
  readonly sealed: ReadonlyMap<string, Tree>;
  /** The tree of a node with step 10 alone. */
  readonly older: Tree;
}

/**
 * Claims name their process, and count until it is gone; the tests with real kills have them. The
 * ledger is no part of what is at stake.
 */
const LEFT_OUT = /^(?:copies\/\.holdfast\/locks|node\/\.holdfast\/ledger)(?:\/|$)|\/(?:claim|candidate|gone)-[0-9a-f-]+(?:\/|$)/;
const isLeftOut = (path: string): boolean => LEFT_OUT.test(path);

/** Plays a scenario once, and records every change of the node's folder and of the copies. */
export async function recordRemote({ before, act, isForeign }: RemoteScenario): Promise<RemoteRecording> {
  using folder = tempFolder(MEMORY);
  const [base, tmp] = [join(folder.path, 'base'), join(folder.path, 'tmp')];
  const [older, newer] = [join(folder.path, 'older'), join(folder.path, 'newer')];
  const [node, copies] = [join(base, 'node'), join(base, 'copies')];
  for (const path of [base, tmp, older]) mkdirSync(path);
  await save(older, 10);
  cpSync(older, newer, { recursive: true });
  await save(newer, 20);
  const places = { node, copies, older, newer, tmp };
  await before(places);
  const tree = withoutLeftOut(readTree(base));
  const log = await recordCalls(base, isLeftOut, (promise) => act(places, promise));
  if (!isDeepStrictEqual(treeAfter(tree, log), withoutLeftOut(readTree(base)))) throw new Error('the log does not explain what is on disk');
  const sealed = new Map((isForeign === true ? [newer] : [newer, node]).flatMap((run) => checkpointsIn(readTree(run))));
  return { before: tree, log, sealed, run: String(readRun(older).run), older: readTree(older) };
}

/** The state of the disks after these operations, when all of them reached it. */
export function treeAfter(before: Tree, log: readonly Operation[]): Tree {
  const tree = new Map(before);
  for (const operation of log) play(tree, operation);
  return new Map([...tree].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function play(tree: Map<string, Uint8Array | null>, operation: Operation): void {
  switch (operation.kind) {
    case 'mkdir':
      return void tree.set(operation.path, null);
    case 'write':
    case 'fill':
      return void tree.set(operation.path, operation.data);
    case 'link':
      return void tree.set(operation.to, tree.get(operation.from) ?? null);
    case 'unlink':
    case 'rmdir':
      return void tree.delete(operation.path);
    case 'rename':
      return move(tree, operation);
    case 'sync-file':
    case 'sync-folder':
    case 'promise':
  }
}

/** Moves a file, or a folder with everything in it. */
function move(tree: Map<string, Uint8Array | null>, { from, to }: { readonly from: string; readonly to: string }): void {
  for (const [path, content] of [...tree]) {
    if (path !== from && !path.startsWith(`${from}/`)) continue;
    tree.delete(path);
    tree.set(to + path.slice(from.length), content);
  }
}

function withoutLeftOut(tree: Tree): Tree {
  return treeAfter(new Map([...tree].filter(([path]) => !isLeftOut(path))), []);
}

/** The part of a tree below a folder. */
export function below(tree: Tree, folder: string): Tree {
  return new Map([...tree].flatMap(([path, content]) => (path.startsWith(`${folder}/`) ? [[path.slice(folder.length + 1), content]] : [])));
}

/** Every folder in a run or below a prefix that can be a checkpoint, with its files. */
export function checkpointsIn(tree: Tree): readonly (readonly [string, Tree])[] {
  const names = [...tree.keys()].filter((path) => /^step-[^/]+$/.test(path));
  return names.map((name) => [name, new Map([...below(tree, name)].filter(([, content]) => content !== null))] as const);
}

/** Seals a step in an attempt of its own. */
async function save(run: string, step: number): Promise<void> {
  const store = openRun(run);
  await seal(store, await startAttempt(store, { gang: `gang ${step}` }), { step, worldSize: 2 });
}
