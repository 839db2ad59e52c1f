import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Clock, realClock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { isObject, parseJson } from '../json.ts';
import { readBootId } from './boot-id.ts';
import { type DurableFs, realFs } from './durable-fs.ts';
import { at, STORE_FOLDER, STORE_FOLDERS } from './layout.ts';
import { readSeals, runOfSeals } from './read-seals.ts';
import { isCode, storeError } from './store-error.ts';
import { assertSuited } from './suitability.ts';

/** What the store touches of the world; every part can be replaced by a test. */
export interface World {
  readonly fs: DurableFs;
  readonly clock: Clock;
  /** Ids that no other process makes. */
  readonly makeId: () => string;
  readonly bootId: string | null;
}

/** The folder of one run, opened. */
export interface Store extends World {
  /** The run's folder. */
  readonly path: string;
  /** The run's identity. Checkpoints of any other are never touched. Null when nothing was ever sealed here. */
  readonly run: string | null;
}

/** A store that may be written: its run has an identity. */
export type OpenStore = Store & { readonly run: string };

const RUN_SCHEMA = 'holdfast.run/1';

function realWorld(parts: Partial<World> = {}): World {
  return { fs: realFs, clock: realClock, makeId: randomUUID, bootId: readBootId(), ...parts };
}

/** Opens the folder of a run to read what is sealed there; changes nothing. */
export function readRun(path: string, parts: Partial<World> = {}): Store {
  const world = realWorld(parts);
  assertFolder(world.fs, path);
  return { ...world, path, run: readRunId(world.fs, path) };
}

/**
 * Opens the folder of a run to write. The first to do so gives the run its identity: `.holdfast` appears in one step with everything in it,
 * so that two who come first at the same time agree. `run` is the identity a new run shall have; without one it is that of the checkpoints
 * that are sealed here already.
 */
export function openRun(path: string, parts: Partial<World> & { readonly run?: string } = {}): OpenStore {
  const { run: wanted, ...rest } = parts;
  const world = realWorld(rest);
  const { fs } = world;
  assertFolder(fs, path);
  const known = readRunId(fs, path);
  if (known !== null) return { ...world, path, run: known };
  try {
    return { ...world, path, run: createRun(world, path, wanted ?? runOfSeals(readSeals(fs, path)) ?? world.makeId()) };
  } catch (thrown) {
    throw storeError(thrown, 'make the store of the run in', path);
  }
}

/** A store that was opened to read, now to write. */
export function openForWriting(store: Store): OpenStore {
  const { fs, clock, makeId, bootId, path, run } = store;
  return run === null ? openRun(path, { fs, clock, makeId, bootId }) : { ...store, run };
}

/** Opens the folder of a run to change what is sealed there; one in which nothing ever was is refused rather than made a run. */
export function openExistingRun(path: string, parts: Partial<World> = {}): OpenStore {
  const store = readRun(path, parts);
  if (store.run !== null) return { ...store, run: store.run };
  if (readSeals(store.fs, path).length > 0) return openRun(path, parts);
  throw new HoldfastError('NOT_SEALED', {
    message: `nothing was ever sealed in ${printable(path)}`,
    hint: 'Is this the folder of a run? holdfast seal PATH seals a checkpoint in it.',
  });
}

function createRun({ fs, makeId }: World, path: string, run: string): string {
  assertSuited(path);
  const temporary = join(path, `.tmp-holdfast-${makeId()}`);
  fs.mkdir(temporary);
  for (const name of STORE_FOLDERS) fs.mkdir(join(temporary, name));
  const file = join(temporary, 'run.json');
  fs.writeFile(file, `${JSON.stringify({ schema: RUN_SCHEMA, run })}\n`);
  fs.fsyncFile(file);
  fs.fsyncFolder(temporary);
  try {
    fs.rename(temporary, join(path, STORE_FOLDER));
  } catch (thrown) {
    fs.unlink(file);
    for (const name of STORE_FOLDERS) fs.rmdir(join(temporary, name));
    fs.rmdir(temporary);
    if (!isCode(thrown, 'ENOTEMPTY', 'EEXIST')) throw thrown;
  }
  fs.fsyncFolder(path);
  const made = readRunId(fs, path);
  if (made === null) throw damagedRun(path, 'is not there although its folder is');
  return made;
}

function readRunId(fs: DurableFs, path: string): string | null {
  const file = at.runFile(path);
  let text: string;
  try {
    text = fs.readFile(file).toString('utf8');
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return null;
    if (isCode(thrown, 'ENOTDIR')) throw damagedRun(path, 'cannot exist, because .holdfast is a file');
    throw storeError(thrown, 'read', file);
  }
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) throw damagedRun(path, 'is not a JSON object');
  const { schema, run } = json.value;
  if (schema !== RUN_SCHEMA) throw damagedRun(path, `is of version ${excerpt(JSON.stringify(schema) ?? 'none', 40)}, not ${RUN_SCHEMA}`);
  if (typeof run !== 'string' || run === '' || run.length > 200) throw damagedRun(path, 'names no run');
  return run;
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
    // The folder itself may be reached through a link; `.` is what lies behind it.
    kind = fs.stat(join(path, '/', '.', '/'))?.kind;
  } catch (thrown) {
    if (!isCode(thrown, 'ENOTDIR')) throw storeError(thrown, 'look at', path);
    kind = 'file';
  }
  if (kind === 'folder') return;
  if (kind === undefined) {
    throw new HoldfastError('PATH_NOT_FOUND', {
      message: `${printable(path)} does not exist`,
      hint: 'Give the folder of a run. Check the spelling, and whether the volume is mounted here.',
    });
  }
  throw new HoldfastError('PATH_NOT_SUPPORTED', {
    message: `${printable(path)} is not a directory`,
    hint: 'Give the folder of a run: the one its checkpoints lie in.',
  });
}
