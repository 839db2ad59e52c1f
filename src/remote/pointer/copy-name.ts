import { createHash } from 'node:crypto';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { setOf } from '../../seal/names.ts';
import { isCount, parseManifest } from '../../seal/manifest.ts';
import type { SealedCheckpoint } from '../../store/folder/scan.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { type CheckpointKind, manifestKey } from '../backends/keys.ts';
import { copyNameProblem, readPointer } from './pointer.ts';

const NAMES = '.holdfast/names/';
const NAME_SCHEMA = 'holdfast.remote-name/1';
const MAX_RECORD_BYTES = 64 * 1024;
const MAX_NAME_BYTES = 255;

/** The place of a copy: its name below the prefix and where its manifest lies. */
export interface CopyPlace {
  readonly name: string;
  readonly kind: CheckpointKind;
}

/**
 * Records which save has a name below a prefix, and the checkpoint's name in the folder of its run.
 */
export interface NameRecord {
  readonly save: string;
  readonly name: string;
  readonly kind: CheckpointKind;
}

/**
 * Takes a name for the copy of a checkpoint, before ship sends any of it. A name belongs to one
 * save for ever. Two nodes of a run, each with its own disk, may both have a step-200. Writing the
 * objects of one over the other would destroy a proven copy. The copy gets the checkpoint's own
 * name if that is free, else a name that only its save has. A process that resumes the copy finds
 * either name again.
 */
export async function takeCopyName(remote: ObjectStore, checkpoint: SealedCheckpoint): Promise<CopyPlace> {
  const { name, kind, manifest } = checkpoint;
  const own: CopyPlace = { name, kind };
  if (await takes(remote, own, checkpoint)) return own;
  await refuseStale(remote, checkpoint);
  // The second name is always a folder: the manifest fixes the names of its files, and other copies
  // have those names at the top.
  const other: CopyPlace = { name: ownName(name, manifest.save), kind: 'directory' };
  if (await takes(remote, other, checkpoint)) return other;
  throw new HoldfastError('REMOTE_CONFLICT', {
    message: `${printable(name)} and ${printable(other.name)} at ${printable(remote.url)} are names of other checkpoints`,
    hint: 'Holdfast never replaces a copy. Use another prefix.',
  });
}

/** The name that only this save has, the same for every caller. */
export function ownName(name: string, save: string): string {
  const suffix = `-${createHash('sha256').update(save).digest('hex').slice(0, 8)}`;
  const room = MAX_NAME_BYTES - suffix.length;
  // Drop half a character at the end.
  const stem =
    Buffer.byteLength(name) <= room
      ? name
      : Buffer.from(name)
          .subarray(0, room)
          .toString('utf8')
          .replace(/\uFFFD+$/, '');
  return `${stem}${suffix}`;
}

/** Takes a free name for this save; false when another save has it. */
async function takes(remote: ObjectStore, place: CopyPlace, { name, kind, manifest }: SealedCheckpoint): Promise<boolean> {
  const { save, attempt, step } = manifest;
  const known = (await readNameRecord(remote, place.name)) ?? (await sealedThere(remote, place));
  if (known !== null) return known.save === save;
  const bytes = Buffer.from(`${JSON.stringify({ schema: NAME_SCHEMA, save, attempt, step, name, kind })}\n`);
  if ((await remote.create(`${NAMES}${place.name}`, bytes)).isWritten) return true;
  return (await readNameRecord(remote, place.name))?.save === save;
}

/** Copies from before names were recorded: the manifest under the name owns it. */
async function sealedThere(remote: ObjectStore, { name, kind }: CopyPlace): Promise<Pick<NameRecord, 'save'> | null> {
  const found = await remote.read(manifestKey(name, kind), LIMITS.documentBytes);
  if (found === null) return null;
  const parsed = parseManifest(found.bytes.toString('utf8'));
  return { save: parsed.ok ? parsed.manifest.save : '' };
}

/**
 * Reads which save has a name; null when none has taken it. An unreadable record still reserves the
 * name.
 */
export async function readNameRecord(remote: ObjectStore, copy: string): Promise<NameRecord | null> {
  const unreadable: NameRecord = { save: '', name: copy, kind: 'directory' };
  try {
    const found = await remote.read(`${NAMES}${copy}`, MAX_RECORD_BYTES);
    return found === null ? null : (parseNameRecord(found.bytes.toString('utf8')) ?? unreadable);
  } catch (thrown) {
    // Too large to be a record.
    if (thrown instanceof HoldfastError && thrown.code === 'REMOTE_INVALID') return unreadable;
    throw thrown;
  }
}

/**
 * Returns a test for keys that belong to copies of the run. Other keys below the prefix may belong
 * to other programs in the bucket, or to a prefix inside this one. The first call lists the names
 * of the copies once, so the number of other keys does not matter.
 */
export function keysOfCopies(remote: ObjectStore): (key: string) => Promise<boolean> {
  let listed: Promise<ReadonlySet<string>> | null = null;
  return async (key) => {
    listed ??= namesOfCopies(remote);
    const names = await listed;
    const [first = ''] = key.split('/');
    return key === first ? names.has(key) || names.has(setOf(key) ?? key) : names.has(first);
  };
}

async function namesOfCopies(remote: ObjectStore): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for await (const { key } of remote.list(NAMES)) {
    const name = key.slice(NAMES.length);
    if (copyNameProblem(name) === null) names.add(name);
  }
  return names;
}

/** Reads a name record; null when the text is none, or names a path outside the folder. */
export function parseNameRecord(text: string): NameRecord | null {
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) return null;
  const { schema, save, attempt, step, name, kind } = json.value;
  if (schema !== NAME_SCHEMA || typeof save !== 'string' || save === '' || !isCount(attempt) || !isCount(step)) return null;
  if (typeof name !== 'string' || copyNameProblem(name) !== null) return null;
  return kind === 'directory' || kind === 'files' ? { save, name, kind } : null;
}

/**
 * Refuses the older of two attempts that want one name. It is stale as far as the pointer shows, so
 * it sends nothing.
 */
async function refuseStale(remote: ObjectStore, { name, manifest }: SealedCheckpoint): Promise<void> {
  const pointer = (await readPointer(remote))?.pointer ?? null;
  if (pointer === null || pointer.run !== manifest.run || pointer.attempt <= manifest.attempt) return;
  throw new HoldfastError('REMOTE_CONFLICT', {
    message: `another checkpoint has the name ${printable(name)} at ${printable(remote.url)}, and attempt ${pointer.attempt} ships there, while this checkpoint is of the older attempt ${manifest.attempt}`,
    hint: 'Holdfast never replaces a copy, and copies of an older attempt do not count. Use another prefix to keep it.',
  });
}
