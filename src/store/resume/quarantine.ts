import { join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { DurableFs } from '../disk/durable-fs.ts';
import { suspect } from '../folder/last-good-cache.ts';
import { at, setOf } from '../../seal/names.ts';
import { isCount } from '../../seal/manifest.ts';
import { moveBack, moveOut } from '../trash/move-out.ts';
import { readSeals } from '../folder/read-seals.ts';
import { nameProblem } from '../../seal/relative-path.ts';
import type { BrokenSeal, SealedCheckpoint } from '../folder/scan.ts';
import type { OpenStore, Store } from '../folder/store.ts';
import { isCode, isNotOurs, storeError } from '../disk/store-error.ts';

const QUARANTINE_SCHEMA = 'holdfast.quarantine/1';

/** A checkpoint that Holdfast moved aside because it is bad. */
export interface Quarantined {
  /** The name of the entry: `step-200`, or `step-200-2` for the second one of that name. */
  readonly id: string;
  /** The name of the checkpoint in the run's folder. */
  readonly name: string;
  readonly path: string;
  readonly code: string;
  readonly reason: string;
  readonly step: number | null;
  readonly attempt: number | null;
  readonly movedAt: string | null;
}

/** Why a checkpoint is bad: an error code and a sentence. */
export interface Reason {
  readonly code: string;
  readonly reason: string;
}

/**
 * Moves a bad checkpoint into quarantine with the reason beside it, and changes none of its files.
 * The reason is durable before the checkpoint arrives. Returns null when another process moved it
 * first.
 */
export function quarantine(store: OpenStore, bad: SealedCheckpoint | BrokenSeal, why: Reason): Quarantined | null {
  const { fs, path } = store;
  const manifest = 'manifest' in bad ? bad.manifest : null;
  const facts = {
    schema: QUARANTINE_SCHEMA,
    name: bad.name,
    ...why,
    step: manifest?.step ?? null,
    attempt: manifest?.attempt ?? null,
    movedAt: new Date(store.clock.now()).toISOString(),
  };
  try {
    const id = makeEntry(store, bad.name, `${JSON.stringify(facts)}\n`);
    const entry = at.store(path, 'quarantine', id);
    if (!movedInto(store, bad, entry)) return null;
    fs.fsyncFolder(entry);
    fs.fsyncFolder(path);
    const { schema: _, ...rest } = facts;
    return { id, path: pathIn(fs, entry, bad.name), ...rest };
  } catch (thrown) {
    throw storeError(thrown, 'quarantine', bad.path);
  }
}

/**
 * The path of the checkpoint; the entry itself where only the seal came, because a file was
 * missing.
 */
function pathIn(fs: DurableFs, entry: string, name: string): string {
  const isThere = fs.list(entry).some((one) => one === name || setOf(one) === name);
  return isThere ? join(entry, name) : entry;
}

/** An entry that received nothing is removed. */
function movedInto(store: OpenStore, bad: SealedCheckpoint | BrokenSeal, entry: string): boolean {
  let isMoved = false;
  try {
    isMoved = moveOut(store, bad, entry);
    return isMoved;
  } finally {
    if (!isMoved && store.fs.list(entry).length === 1) {
      store.fs.unlink(join(entry, 'reason.json'));
      store.fs.rmdir(entry);
    }
  }
}

/** Lists the checkpoints in quarantine, and why each is there. */
export function listQuarantine(store: Store): readonly Quarantined[] {
  const folder = at.store(store.path, 'quarantine');
  const entries: Quarantined[] = [];
  for (const id of namesIn(store, folder)) {
    if (id.startsWith('.')) continue;
    const entry = readEntry(store, folder, id);
    if (entry !== null) entries.push(entry);
  }
  return entries;
}

/**
 * Restores a checkpoint under its name. It was found bad, so the next resume reads every byte of
 * it.
 */
export function restore(store: OpenStore, id: string): Quarantined {
  const entry = nameProblem(id) === null ? readEntry(store, at.store(store.path, 'quarantine'), id) : null;
  if (entry === null) {
    throw new HoldfastError('NOT_SEALED', {
      message: `there is nothing called "${excerpt(id)}" in quarantine`,
      hint: 'holdfast quarantine RUN lists its content.',
    });
  }
  const { fs, path } = store;
  const folder = at.store(path, 'quarantine', id);
  const names = fs.list(folder).filter((name) => name !== 'reason.json');
  const taken = names.find((name) => fs.stat(join(path, name)) !== null);
  if (taken !== undefined) {
    throw new HoldfastError('NAME_TAKEN', {
      message: `${printable(join(path, taken))} exists, so ${printable(id)} cannot be restored to it`,
      hint: 'Move it away first.',
    });
  }
  try {
    suspect(
      store,
      readSeals(fs, folder).flatMap(({ parsed }) => (parsed.ok ? [parsed.manifest.save] : [])),
    );
    moveBack(store, folder, names);
    fs.fsyncFolder(path);
    fs.unlink(join(folder, 'reason.json'));
    fs.rmdir(folder);
    fs.fsyncFolder(at.store(path, 'quarantine'));
  } catch (thrown) {
    throw storeError(thrown, 'bring back', join(folder, entry.name));
  }
  return { ...entry, path: join(path, entry.name) };
}

/** Makes an entry that holds its reason, in one step, under the first free name. */
function makeEntry({ fs, path, makeId }: OpenStore, name: string, reason: string): string {
  const temporary = at.store(path, 'quarantine', `.tmp-${makeId()}`);
  fs.mkdir(temporary);
  const file = join(temporary, 'reason.json');
  fs.writeFile(file, reason);
  fs.fsyncFile(file);
  fs.fsyncFolder(temporary);
  for (let n = 1; ; n++) {
    const id = n === 1 ? name : `${name}-${n}`;
    try {
      fs.rename(temporary, at.store(path, 'quarantine', id));
      fs.fsyncFolder(at.store(path, 'quarantine'));
      return id;
    } catch (thrown) {
      if (!isCode(thrown, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) throw thrown;
    }
  }
}

function readEntry({ fs }: Store, folder: string, id: string): Quarantined | null {
  try {
    const json = parseJson(readReason(fs, join(folder, id, 'reason.json')));
    const value = json.ok && isObject(json.value) ? json.value : {};
    const text = (key: string, otherwise: string) => {
      const found = value[key];
      return typeof found === 'string' ? found : otherwise;
    };
    const count = (key: string) => {
      const found = value[key];
      return isCount(found) ? found : null;
    };
    const name = text('name', id);
    if (nameProblem(name) !== null || fs.list(join(folder, id)).length < 2) return null;
    const reason = text('reason', 'the reason cannot be read');
    const movedAt = text('movedAt', '') || null;
    const facts = { code: text('code', 'UNKNOWN'), reason, step: count('step'), attempt: count('attempt'), movedAt };
    return { id, name, path: pathIn(fs, join(folder, id), name), ...facts };
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT', 'ENOTDIR')) return null;
    throw storeError(thrown, 'read', join(folder, id));
  }
}

function readReason(fs: DurableFs, file: string): string {
  try {
    return fs.readFile(file).toString('utf8');
  } catch (thrown) {
    if (isNotOurs(thrown)) return '';
    throw thrown;
  }
}

function namesIn({ fs }: Store, folder: string): readonly string[] {
  try {
    return fs.list(folder);
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return [];
    throw storeError(thrown, 'list', folder);
  }
}
