import { excerpt, printable } from '../../core/printable.ts';
import { needOfKey } from '../reading/content-names.ts';
import type { Need } from '../reading/content.ts';
import type { Findings } from '../reading/findings.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { ArrayStore } from './array-store.ts';
import { readDocument } from './documents.ts';
import { inspectDatabases, MANIFEST, PROCESS_FOLDER } from './ocdbt-item.ts';
import { parseTreeMetadata, type TreeArray, type TreeMetadata } from './tree-metadata.ts';
import { inspectArrayFolders } from './zarr-item.ts';

const TREE = '_METADATA';
const SHARDING = '_sharding';
/** Texts of the tree, which are no arrays. */
const STRINGS = '_strings.json';
const ARRAY_METADATA = 'array_metadatas';
const PROCESS_FILE = /^process_\d+$/;

/**
 * One item of a checkpoint: the folder it lies in, and its name, which is empty when the checkpoint
 * is a single item.
 */
export interface Item {
  readonly folder: Directory;
  readonly name: string;
}

/** True when the folder holds a tree of arrays, whole or broken. */
export function holdsArrays(folder: Directory): boolean {
  if (folder.has(TREE) || folder.has(MANIFEST) || folder.has(SHARDING) || folder.has(ARRAY_METADATA)) return true;
  for (const name of folder.entries.keys()) if (PROCESS_FOLDER.test(name)) return true;
  return false;
}

/**
 * Reads an item that is a tree of arrays. `isRecent`: its version of Orbax always describes the
 * tree.
 */
export function inspectArrayItem({ folder, name }: Item, findings: Findings, isRecent: boolean): void {
  const tree = readTree(folder, findings, isRecent);
  readDocument(folder, SHARDING, findings);
  readDocument(folder, STRINGS, findings);
  const processes = inspectArrayMetadata(folder, findings);
  if (processes > 0) findings.content.worldSize = Math.max(findings.content.worldSize ?? 0, processes);
  const version = tree?.zarrVersion ?? 2;
  const store = new ArrayStore(findings, version);
  if (usesDatabase(folder, tree)) inspectDatabases(folder, store, { findings, version });
  else inspectArrayFolders(folder, store, { findings, version });
  if (tree === null) {
    if (findings.payloadBytes > 0) findings.content.add('weights', excerpt(name === '' ? folder.name : name));
    return;
  }
  for (const array of tree.arrays) addContent(array, name, findings);
  reportArrays({ folder, name }, tree, store, findings);
  addStep({ folder, name }, tree, store, findings);
}

function readTree(folder: Directory, findings: Findings, isRecent: boolean): TreeMetadata | null {
  const file = folder.pathOf(TREE);
  if (!folder.has(TREE)) {
    if (isRecent) findings.add('FILE_MISSING', { file }, `${printable(file)} is missing, so the saved arrays are unknown`);
    return null;
  }
  const document = readDocument(folder, TREE, findings);
  if (document === null) return null;
  const tree = parseTreeMetadata(document);
  if (tree === null) findings.add('DOCUMENT_INVALID', { file }, `${printable(file)} does not describe a tree of arrays`);
  return tree;
}

function usesDatabase(folder: Directory, tree: TreeMetadata | null): boolean {
  if (folder.has(MANIFEST) || tree?.usesOcdbt === true) return true;
  for (const name of folder.entries.keys()) if (PROCESS_FOLDER.test(name)) return true;
  return false;
}

/** What each process noted about the arrays it wrote; returns how many did. */
function inspectArrayMetadata(folder: Directory, findings: Findings): number {
  const notes = folder.directory(ARRAY_METADATA);
  const files = notes?.files(PROCESS_FILE) ?? [];
  for (const { name } of files) if (notes !== null) readDocument(notes, name, findings);
  return files.length;
}

/**
 * Every array of the tree must be stored. Nothing is said when the index itself is broken: what is
 * missing then is its consequence.
 */
function reportArrays({ folder }: Item, tree: TreeMetadata, store: ArrayStore, findings: Findings): void {
  if (findings.isBroken) return;
  store.report(folder.path, tree.storesEveryChunk);
  for (const { name } of tree.arrays) {
    if (store.has(name)) continue;
    const message = `${printable(folder.path) || 'the checkpoint'} holds no array ${excerpt(name)}, which ${TREE} lists`;
    findings.add('ORBAX_ARRAY_MISSING', { file: folder.pathOf(TREE) }, message);
  }
}

/**
 * The item's name and then the keys say what an array is for; one that nothing speaks of is taken
 * for weights.
 */
function addContent({ keys, name, isScalar }: TreeArray, item: string, findings: Findings): void {
  const need = needOfPath(item === '' ? keys : [item, ...keys]);
  if (need === 'step') return;
  if (need !== null) findings.content.add(need, excerpt(item === '' ? name : `${item}: ${name}`));
  else if (!isScalar) findings.content.add('weights', excerpt(item === '' ? name : `${item}: ${name}`));
}

function needOfPath(path: readonly string[]): Need | null {
  for (const key of path) {
    const need = needOfKey(key);
    if (need !== null) return need;
  }
  return null;
}

function addStep({ name: item }: Item, tree: TreeMetadata, store: ArrayStore, findings: Findings): void {
  for (const { keys, name } of tree.arrays) {
    if (keys.length > 2 || needOfKey(keys.at(-1) ?? '') !== 'step' || needOfPath(keys) !== 'step') continue;
    const scalar = store.scalarOf(name);
    if (scalar === null) continue;
    findings.content.addStep(scalar.value, scalar.file, excerpt(item === '' ? name : `${item}: ${name}`));
    return;
  }
}
