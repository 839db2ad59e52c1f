import { printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { needOfKey } from '../reading/content-names.ts';
import { readDocument } from './documents.ts';
import { holdsArrays, inspectArrayItem } from './item.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import type { DirectoryFormat } from '../reading/format.ts';

const TEMPORARY = '.orbax-checkpoint-tmp';
const CHECKPOINT_METADATA = '_CHECKPOINT_METADATA';
const MARKER = 'commit_success.txt';
/** Handlers whose items are trees of arrays. */
const ARRAY_HANDLER = /(Standard|PyTree)CheckpointHandler$/;
/** Items looked into before a folder is claimed by what lies below it. */
const MAX_LOOKS = 32;
const MAX_NESTING = 3;

/** Orbax checkpoints: one folder per step, with one item or several in folders of their own. */
export const orbax: DirectoryFormat = {
  id: 'orbax',
  title: 'Orbax checkpoint',

  claims(directory) {
    if (directory.name.includes(TEMPORARY) || directory.has(CHECKPOINT_METADATA)) return true;
    return holdsArrays(directory) || isStepOfOldVersion(directory);
  },

  inspect(directory, findings) {
    if (directory.name.includes(TEMPORARY)) {
      const message = `${printable(directory.name)} is named as a save in flight: Orbax would have renamed it at the end`;
      findings.add('ORBAX_UNFINISHED', { file: directory.path }, message);
      return;
    }
    const isRecent = directory.has(CHECKPOINT_METADATA);
    const metadata = readMetadata(directory, findings);
    const items = itemsOf(directory);
    reportUncommitted(directory, metadata, findings);
    reportMarkers(directory, items, findings);
    // What an unfinished save holds proves nothing, and half-written files in it would pass for
    // damaged ones.
    if (findings.has('ORBAX_NOT_COMMITTED')) return;
    reportMissingItems(directory, metadata, findings);
    if (items.length === 0) inspectItem(directory, findings, { name: '', isRecent, handler: singleHandler(metadata) });
    else inspectItems(directory, items, findings, (name) => ({ name, isRecent, handler: handlerOf(metadata, name) }));
  },
};

function readMetadata(directory: Directory, findings: Findings): JsonObject | null {
  const document = readDocument(directory, CHECKPOINT_METADATA, findings);
  if (document === null || isObject(document)) return document;
  const file = directory.pathOf(CHECKPOINT_METADATA);
  findings.add('DOCUMENT_INVALID', { file }, `${printable(file)} is not an object`);
  return null;
}

/**
 * Versions that did not describe the checkpoint left only items below a folder named for the step.
 */
function isStepOfOldVersion(directory: Directory): boolean {
  if (!/(^|_)\d+$/.test(directory.name)) return false;
  let looks = 0;
  for (const { name, kind } of directory.entries.values()) {
    if (kind !== 'directory' || /(^|_)\d+$/.test(name)) continue;
    if (++looks > MAX_LOOKS) return false;
    const item = directory.directory(name);
    if (item !== null && !item.has(CHECKPOINT_METADATA) && !name.includes(TEMPORARY) && holdsArrays(item)) return true;
  }
  return false;
}

/** The folders of a checkpoint's items; none when the checkpoint itself is one. */
function itemsOf(directory: Directory): readonly Directory[] {
  if (holdsArrays(directory)) return [];
  const items: Directory[] = [];
  for (const { name, kind } of directory.entries.values()) {
    const item = kind === 'directory' ? directory.directory(name) : null;
    if (item !== null) items.push(item);
  }
  return items;
}

function reportUncommitted(directory: Directory, metadata: JsonObject | null, findings: Findings): void {
  if (metadata?.['commit_timestamp_nsecs'] !== null) return;
  const file = directory.pathOf(CHECKPOINT_METADATA);
  const message = `${printable(file)} has no time of a commit, so the save started and never finished`;
  findings.add('ORBAX_NOT_COMMITTED', { file, expected: 'a time', found: 'null' }, message);
}

/**
 * A writer that marks the items marks the checkpoint last. A marker counts only when it was really
 * written.
 */
function reportMarkers(directory: Directory, items: readonly Directory[], findings: Findings): void {
  const marked = items.filter((item) => item.has(MARKER));
  if (marked.length > 0 && !directory.has(MARKER)) {
    const file = directory.pathOf(MARKER);
    findings.add('ORBAX_NOT_COMMITTED', { file }, `${printable(file)} is missing although items of the checkpoint have theirs`);
  }
  for (const folder of [directory, ...items]) {
    if (folder.entries.get(MARKER)?.kind !== 'file' || folder.entries.get(MARKER)?.size !== 0) continue;
    const file = folder.pathOf(MARKER);
    findings.add(
      'FILE_EMPTY',
      { file },
      `${printable(file)} has no bytes: the marker was created, but what it says never reached the disk`,
    );
  }
}

function handlersOf(metadata: JsonObject | null): Json | undefined {
  return metadata?.['item_handlers'];
}

function handlerOf(metadata: JsonObject | null, item: string): string {
  const handlers = handlersOf(metadata);
  const handler = isObject(handlers) ? handlers[item] : null;
  return typeof handler === 'string' ? handler : '';
}

/**
 * Of a checkpoint that is one item. Where nothing names another, it is a tree of arrays, as nearly
 * all are.
 */
function singleHandler(metadata: JsonObject | null): string {
  const handler = handlersOf(metadata);
  return typeof handler === 'string' ? handler : 'StandardCheckpointHandler';
}

function reportMissingItems(directory: Directory, metadata: JsonObject | null, findings: Findings): void {
  const handlers = handlersOf(metadata);
  if (!isObject(handlers)) return;
  for (const [item, handler] of Object.entries(handlers)) {
    if (typeof handler !== 'string' || directory.has(item)) continue;
    const file = directory.pathOf(item);
    findings.add('FILE_MISSING', { file }, `${printable(file)} is missing; ${CHECKPOINT_METADATA} lists it as an item of this checkpoint`);
  }
}

interface ItemFacts {
  /** The item's name, after the names of the items that it lies in. */
  readonly name: string;
  readonly isRecent: boolean;
  readonly handler: string;
}

/** Items of several parts, a random key and what kind it is for example, hold others. */
function inspectItems(parent: Directory, items: readonly Directory[], findings: Findings, factsOf: (item: string) => ItemFacts): void {
  for (const item of items) {
    if (!item.name.includes(TEMPORARY)) inspectItem(item, findings, factsOf(item.name));
    // What is left of an unfinished item beside the finished one does no harm.
    else if (!parent.has(item.name.slice(0, item.name.indexOf(TEMPORARY)))) {
      const message = `${printable(item.path)} is an item that was still being written when the save stopped`;
      findings.add('ORBAX_UNFINISHED', { file: item.path }, message);
    }
  }
}

function inspectItem(folder: Directory, findings: Findings, { name, isRecent, handler }: ItemFacts): void {
  const need = needOfKey(name);
  if (need === 'rng' || need === 'scheduler') findings.content.add(need, printable(name));
  if (holdsArrays(folder) || ARRAY_HANDLER.test(handler)) inspectArrayItem({ folder, name }, findings, isRecent);
  // A JSON item is one file of this name.
  else if (folder.entries.get('metadata')?.kind === 'file') readDocument(folder, 'metadata', findings);
  else if (name.split('/').length < MAX_NESTING) {
    inspectItems(folder, itemsOf(folder), findings, (inner) => ({ name: `${name}/${inner}`, isRecent, handler: '' }));
  }
}
