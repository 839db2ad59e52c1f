import { createHash } from 'node:crypto';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { isObject, parseJson } from '../json.ts';
import { LIMITS } from '../limits.ts';
import { setOf } from '../store/layout.ts';
import { isCount, parseManifest } from '../store/manifest.ts';
import { nameProblem } from '../store/relative-path.ts';
import type { SealedCheckpoint } from '../store/scan.ts';
import type { ObjectStore } from './backend.ts';
import { type CheckpointKind, manifestKey } from './keys.ts';
import { readPointer } from './pointer.ts';

const NAMES = '.holdfast/names/';
const NAME_SCHEMA = 'holdfast.remote-name/1';
const MAX_RECORD_BYTES = 64 * 1024;
const MAX_NAME_BYTES = 255;

/** What a copy is called below its prefix, and how its manifest lies there. */
export interface CopyPlace {
  readonly name: string;
  readonly kind: CheckpointKind;
}

/** Whose a name below a prefix is, and what the checkpoint is called in the folder of its run. */
export interface NameRecord {
  readonly save: string;
  readonly name: string;
  readonly kind: CheckpointKind;
}

/**
 * Takes a name for the copy of a checkpoint, before anything of it is sent. A name belongs to one save for ever: two nodes of a run, each with a disk of
 * its own, may both have a step-200, and whoever put its objects over the other's would destroy a copy that was proven. Its own name is taken when
 * it is free, else one that no other save has; either is found again by whoever goes on with a copy that was stopped.
 */
export async function takeCopyName(remote: ObjectStore, checkpoint: SealedCheckpoint): Promise<CopyPlace> {
  const { name, kind, manifest } = checkpoint;
  const own: CopyPlace = { name, kind };
  if (await takes(remote, own, checkpoint)) return own;
  await refuseStale(remote, checkpoint);
  // As a folder, whatever it is here: the names of its files are part of its manifest, and others have them at the top.
  const other: CopyPlace = { name: ownName(name, manifest.save), kind: 'directory' };
  if (await takes(remote, other, checkpoint)) return other;
  throw new HoldfastError('REMOTE_CONFLICT', {
    message: `${printable(name)} and ${printable(other.name)} at ${printable(remote.url)} are names of other checkpoints`,
    hint: 'Nothing is ever replaced. Use another prefix.',
  });
}

/** The name that only this save has; the same whoever asks. */
export function ownName(name: string, save: string): string {
  const suffix = `-${createHash('sha256').update(save).digest('hex').slice(0, 8)}`;
  const room = MAX_NAME_BYTES - suffix.length;
  // Half a character at the end is none.
  const stem =
    Buffer.byteLength(name) <= room
      ? name
      : Buffer.from(name)
          .subarray(0, room)
          .toString('utf8')
          .replace(/\uFFFD+$/, '');
  return `${stem}${suffix}`;
}

/** Whether the name is this save's, which it becomes when it is nobody's. */
async function takes(remote: ObjectStore, place: CopyPlace, { name, kind, manifest }: SealedCheckpoint): Promise<boolean> {
  const { save, attempt, step } = manifest;
  const known = (await readNameRecord(remote, place.name)) ?? (await sealedThere(remote, place));
  if (known !== null) return known.save === save;
  const bytes = Buffer.from(`${JSON.stringify({ schema: NAME_SCHEMA, save, attempt, step, name, kind })}\n`);
  if ((await remote.create(`${NAMES}${place.name}`, bytes)).isWritten) return true;
  return (await readNameRecord(remote, place.name))?.save === save;
}

/** Copies of the time before names were recorded: the manifest that is there owns its name. */
async function sealedThere(remote: ObjectStore, { name, kind }: CopyPlace): Promise<Pick<NameRecord, 'save'> | null> {
  const found = await remote.read(manifestKey(name, kind), LIMITS.documentBytes);
  if (found === null) return null;
  const parsed = parseManifest(found.bytes.toString('utf8'));
  return { save: parsed.ok ? parsed.manifest.save : '' };
}

/** Null when the name was never taken. One that cannot be understood is somebody's all the same. */
export async function readNameRecord(remote: ObjectStore, copy: string): Promise<NameRecord | null> {
  const found = await remote.read(`${NAMES}${copy}`, MAX_RECORD_BYTES);
  return found === null ? null : (parseNameRecord(found.bytes.toString('utf8')) ?? { save: '', name: copy, kind: 'directory' });
}

/**
 * Tells whether a key is one of a copy: what else lies below the prefix is somebody else's, who may use all of the bucket, or a prefix inside this one. The names
 * of the copies are listed once, when the first key is asked about: how many others there are costs nothing.
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
    if (nameProblem(name) === null) names.add(name);
  }
  return names;
}

export function parseNameRecord(text: string): NameRecord | null {
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) return null;
  const { schema, save, attempt, step, name, kind } = json.value;
  if (schema !== NAME_SCHEMA || typeof save !== 'string' || save === '' || !isCount(attempt) || !isCount(step)) return null;
  if (typeof name !== 'string' || name.startsWith('.') || nameProblem(name) !== null) return null;
  return kind === 'directory' || kind === 'files' ? { save, name, kind } : null;
}

/** Of two attempts that want one name the older is stale, as far as the pointer tells: it sends nothing. */
async function refuseStale(remote: ObjectStore, { name, manifest }: SealedCheckpoint): Promise<void> {
  const pointer = (await readPointer(remote))?.pointer ?? null;
  if (pointer === null || pointer.run !== manifest.run || pointer.attempt <= manifest.attempt) return;
  throw new HoldfastError('REMOTE_CONFLICT', {
    message: `another checkpoint is called ${printable(name)} at ${printable(remote.url)}, and attempt ${pointer.attempt} ships there, which is newer than attempt ${manifest.attempt} of this one`,
    hint: 'Nothing is ever replaced, and what an older attempt adds does not count. Use another prefix to keep it.',
  });
}
