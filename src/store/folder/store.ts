import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Clock, realClock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { readBootId } from '../disk/boot-id.ts';
import { removeQuietly } from '../disk/delete-tree.ts';
import { type DurableFs, fsBeneath } from '../disk/durable-fs.ts';
import { at, MANIFEST_NAME, STORE_FOLDER, STORE_FOLDERS } from '../../seal/names.ts';
import { processIdentity } from '../disk/process-identity.ts';
import { readSeals, runsOfSeals } from './read-seals.ts';
import { isCode, isNotOurs, storeError } from '../disk/store-error.ts';
import { assertSuited } from './suitability.ts';

/** The parts of the world that the store touches; a test can replace each of them. */
export interface World {
  readonly fs: DurableFs;
  readonly clock: Clock;
  /** Makes ids that no other process makes. */
  readonly makeId: () => string;
  readonly bootId: string | null;
  /**
   * The mark of this process on its saves; null where other processes could not judge whether it is
   * alive.
   */
  readonly owner: string | null;
}

/** The opened folder of one run. */
export interface Store extends World {
  /** The run's folder. */
  readonly path: string;
  /**
   * The run's identity; checkpoints of other runs are never touched. Null when no checkpoint was
   * ever sealed here.
   */
  readonly run: string | null;
  /**
   * True when it holds copies that `ship` made: a run can resume from it, and only `ship` writes
   * there.
   */
  readonly isCopy: boolean;
}

/** A store that may be written: its run has an identity. */
export type OpenStore = Store & { readonly run: string };

const RUN_SCHEMA = 'holdfast.run/1';
/**
 * The schema of a run's prefix in an object store; a folder, or a mounted bucket, can have it too.
 */
export const COPY_SCHEMA = 'holdfast.remote-run/1';

function realWorld(path: string, parts: Partial<World> = {}): World {
  const { bootId = readBootId(), owner = processIdentity(bootId) } = parts;
  return { fs: fsBeneath(path), clock: realClock, makeId: randomUUID, ...parts, bootId, owner };
}

/** Opens the folder of a run to read its seals, and changes nothing. */
export function readRun(path: string, parts: Partial<World> = {}): Store {
  const world = realWorld(path, parts);
  assertFolder(world.fs, path);
  return { ...world, path, ...readIdentity(world.fs, path) };
}

/**
 * Opens the folder of a run to write. The first process to do so gives the run its identity.
 * `.holdfast` appears in one step with all of its content, so that two first processes agree.
 * Existing seals decide that identity; without them it is `run`, if given.
 */
export function openRun(path: string, parts: Partial<World> & { readonly run?: string } = {}): OpenStore {
  const { run: wanted, ...rest } = parts;
  const world = realWorld(path, rest);
  const { fs } = world;
  assertFolder(fs, path);
  // An existing run is checked too: a copy may lie on storage that cannot commit.
  assertSuited(path);
  const { run: known, isCopy } = readIdentity(fs, path);
  if (isCopy) throw copiesOnly(path);
  if (known !== null) {
    restoreFolders(fs, path);
    return { ...world, path, run: known, isCopy };
  }
  try {
    return { ...world, path, isCopy, run: createRun(world, path, runFor(world, path, wanted)) };
  } catch (thrown) {
    throw storeError(thrown, 'make the store of the run in', path);
  }
}

/**
 * Returns the identity for a folder that lost its own, or never had one. If several runs are
 * possible it throws: with a new identity, all checkpoints would be foreign.
 */
function runFor({ fs, makeId }: World, path: string, wanted: string | undefined): string {
  const runs = runsOfSeals(readSeals(fs, path));
  const [only] = runs;
  if (only === undefined) return wanted ?? makeId();
  if (runs.length === 1) return only;
  if (wanted !== undefined && runs.includes(wanted)) return wanted;
  throw new HoldfastError('RUN_DAMAGED', {
    message: `${printable(path)} holds sealed checkpoints of ${runs.length} runs, and ${printable(at.runFile(path))}, which names the run of the folder, is missing`,
    hint: 'Nothing was changed. Move the checkpoints of the other runs elsewhere, with their manifests: holdfast ls RUN shows the run of each.',
  });
}

/** Makes a store that was opened to read writable. */
export function openForWriting(store: Store): OpenStore {
  const { path, run, isCopy, ...world } = store;
  if (isCopy) throw copiesOnly(path);
  if (run === null) return openRun(path, world);
  assertSuited(path);
  restoreFolders(store.fs, path);
  return { ...store, run };
}

/** Makes missing folders again: copies, archives and object stores often leave out empty ones. */
export function restoreFolders(fs: DurableFs, path: string): void {
  const missing = STORE_FOLDERS.map((name) => at.store(path, name)).filter((folder) => fs.stat(folder) === null);
  if (missing.length === 0) return;
  try {
    for (const folder of missing) makeFolder(fs, folder);
    fs.fsyncFolder(at.store(path));
  } catch (thrown) {
    throw storeError(thrown, 'make the folders of', at.store(path));
  }
}

/** Makes a folder; another process may do so at the same time. */
function makeFolder(fs: DurableFs, folder: string): void {
  try {
    fs.mkdir(folder);
  } catch (thrown) {
    if (!isCode(thrown, 'EEXIST')) throw thrown;
  }
}

/**
 * Opens the folder of a run to change its seals. It refuses a folder without any seal and does not
 * make it a run.
 */
export function openExistingRun(path: string, parts: Partial<World> = {}): OpenStore {
  return openForWriting(readExistingRun(path, parts));
}

/** Opens it like {@link openExistingRun}, only to read. */
export function readExistingRun(path: string, parts: Partial<World> = {}): Store {
  const store = readRun(path, parts);
  if (store.run !== null || readSeals(store.fs, path).length > 0) return store;
  throw new HoldfastError('NOT_SEALED', {
    message: `nothing was ever sealed in ${printable(path)}`,
    hint: 'Is this the folder of a run? holdfast seal PATH seals a checkpoint in it.',
  });
}

function createRun({ fs, makeId }: World, path: string, run: string): string {
  const temporary = join(path, `.tmp-holdfast-${makeId()}`);
  fs.mkdir(temporary);
  try {
    for (const name of STORE_FOLDERS) fs.mkdir(join(temporary, name));
    const file = join(temporary, 'run.json');
    fs.writeFile(file, `${JSON.stringify({ schema: RUN_SCHEMA, run })}\n`);
    fs.fsyncFile(file);
    fs.fsyncFolder(temporary);
    fs.rename(temporary, join(path, STORE_FOLDER));
  } catch (thrown) {
    removeQuietly(fs, temporary);
    // Another process has made it meanwhile.
    if (!isCode(thrown, 'ENOTEMPTY', 'EEXIST')) throw thrown;
  }
  fs.fsyncFolder(path);
  const { run: made } = readIdentity(fs, path);
  if (made === null) throw damagedRun(path, 'is missing, although its folder exists');
  return made;
}

function readIdentity(fs: DurableFs, path: string): Pick<Store, 'run' | 'isCopy'> {
  const file = at.runFile(path);
  let text: string;
  try {
    text = fs.readFile(file).toString('utf8');
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return { run: null, isCopy: false };
    if (isCode(thrown, 'ENOTDIR')) throw damagedRun(path, 'cannot exist, because .holdfast is a file');
    if (isNotOurs(thrown)) throw damagedRun(path, 'is not a small regular file');
    throw storeError(thrown, 'read', file);
  }
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) throw damagedRun(path, 'is not a JSON object');
  const { schema, run } = json.value;
  const isCopy = schema === COPY_SCHEMA;
  if (schema !== RUN_SCHEMA && !isCopy)
    throw damagedRun(path, `is of version ${excerpt(JSON.stringify(schema) ?? 'none', 40)}, not ${RUN_SCHEMA}`);
  if (typeof run !== 'string' || run === '' || run.length > 200) throw damagedRun(path, 'names no run');
  assertFolders(fs, path);
  return { run, isCopy };
}

/**
 * Refuses a foreign entry in the place of one of our folders. Taken for an empty folder, it would
 * hide pins or the quarantine.
 */
function assertFolders(fs: DurableFs, path: string): void {
  for (const folder of STORE_FOLDERS.map((name) => at.store(path, name))) {
    const kind = fs.stat(folder)?.kind ?? 'folder';
    if (kind === 'folder') continue;
    throw new HoldfastError('RUN_DAMAGED', {
      message: `${printable(folder)} is ${kind === 'file' ? 'a file' : 'neither a file nor a folder'} where a folder of the run must be`,
      hint: 'Nothing was changed. Move it away: an empty folder is made in its place.',
    });
  }
}

function copiesOnly(path: string): HoldfastError {
  return new HoldfastError('RUN_IS_COPY', {
    message: `${printable(path)} holds copies that holdfast ship made`,
    hint: 'Only holdfast ship writes there. Resume from it, or fetch a checkpoint with holdfast fetch and continue in the folder of the run.',
  });
}

function damagedRun(path: string, problem: string): HoldfastError {
  return new HoldfastError('RUN_DAMAGED', {
    message: `${printable(at.runFile(path))} ${problem}`,
    hint: 'Another version of Holdfast made it, or it was damaged. The checkpoints themselves are untouched: holdfast verify reads them without it.',
  });
}

function assertFolder(fs: DurableFs, path: string): void {
  let kind: string | undefined;
  try {
    // The folder itself may be reached through a link; `.` is its target.
    kind = fs.stat(join(path, '/', '.', '/'))?.kind;
  } catch (thrown) {
    if (!isCode(thrown, 'ENOTDIR')) throw storeError(thrown, 'look at', path);
    kind = 'file';
  }
  if (kind === 'folder') {
    if (fs.stat(join(path, MANIFEST_NAME)) === null) return;
    throw new HoldfastError('PATH_NOT_SUPPORTED', {
      message: `${printable(path)} is a sealed checkpoint, not the folder of a run`,
      hint: 'Give the folder it lies in.',
    });
  }
  if (kind === undefined) {
    throw new HoldfastError('PATH_NOT_FOUND', {
      message: `${printable(path)} does not exist`,
      hint: 'Give the folder of a run. Check the spelling, and whether the volume is mounted here.',
    });
  }
  throw new HoldfastError('PATH_NOT_SUPPORTED', {
    message: `${printable(path)} is not a directory`,
    hint: 'Give the folder of a run: the folder that holds its checkpoints.',
  });
}
