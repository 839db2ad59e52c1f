import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { isObject, parseJson } from '../json.ts';
import { isCount, type Manifest } from '../store/manifest.ts';
import { nameProblem } from '../store/relative-path.ts';
import { isRolledBack, type Rollback } from '../store/rollback.ts';
import { COPY_SCHEMA } from '../store/store.ts';
import type { ObjectStore } from './backend.ts';
import { contended, notOurs } from './remote-error.ts';
import { remoteRollback } from './remote-rollback.ts';

const POINTER_SCHEMA = 'holdfast.remote-last-good/1';
const POINTER_KEY = '.holdfast/last-good.json';
const RUN_KEY = '.holdfast/run.json';
const MAX_BYTES = 64 * 1024;
/** Others who move the pointer at the same time finish sooner or later. */
const MAX_TRIES = 20;

/** The newest checkpoint that was shipped whole. */
export interface RemotePointer {
  readonly run: string;
  readonly attempt: number;
  readonly step: number;
  readonly save: string;
  readonly name: string;
  /** How the manifest lies: inside the checkpoint's folder, or beside its files. */
  readonly kind: 'directory' | 'files';
}

export interface Age {
  readonly attempt: number;
  readonly step: number;
}

export type PointerMove =
  | { readonly moved: true }
  /** Something newer is there already; `attempt` tells whose. */
  | { readonly moved: false; readonly attempt: number; readonly step: number };

/** The prefix belongs to the run that writes first. */
export async function claimPrefix(remote: ObjectStore, run: string): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify({ schema: COPY_SCHEMA, run })}\n`);
  if ((await readOwner(remote)) === null && (await remote.create(RUN_KEY, bytes)).isWritten) return;
  const owner = await readOwner(remote);
  if (owner === null) throw notOurs(remote, RUN_KEY);
  assertOwner(remote, owner, run);
}

/** The run that the prefix belongs to; null while it belongs to none. */
export async function readOwner(remote: ObjectStore): Promise<string | null> {
  const found = await remote.read(RUN_KEY, MAX_BYTES);
  if (found === null) return null;
  const json = parseJson(found.bytes.toString('utf8'));
  const { schema, run } = json.ok && isObject(json.value) ? json.value : {};
  if (schema !== COPY_SCHEMA || typeof run !== 'string' || run === '' || run.length > 200) throw notOurs(remote, RUN_KEY);
  return run;
}

/** A prefix of another run is refused. */
export function assertOwner(remote: ObjectStore, owner: string, run: string): void {
  if (owner === run) return;
  throw new HoldfastError('REMOTE_CONFLICT', {
    message: `${printable(remote.url)} belongs to the run ${printable(owner)}, not to ${printable(run)}`,
    hint: 'Give every run a prefix of its own.',
  });
}

export async function readPointer(
  remote: ObjectStore,
): Promise<{ readonly pointer: RemotePointer | null; readonly version: string } | null> {
  const found = await remote.read(POINTER_KEY, MAX_BYTES);
  return found === null ? null : { pointer: parsePointer(found.bytes.toString('utf8')), version: found.version };
}

function parsePointer(text: string): RemotePointer | null {
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) return null;
  const { schema, run, attempt, step, save, name, kind } = json.value;
  if (schema !== POINTER_SCHEMA || typeof run !== 'string' || typeof save !== 'string' || typeof name !== 'string') return null;
  if (!isCount(attempt) || !isCount(step) || nameProblem(name) !== null || (kind !== 'directory' && kind !== 'files')) return null;
  return { run, attempt, step, save, name, kind };
}

/**
 * Moves the remote pointer forward, by compare-and-swap. It never goes back: an attempt that was fenced may still finish a copy, but what a newer
 * attempt has pointed at stays. Only what somebody has rolled the run back from does not count. A pointer that cannot be read is replaced: the
 * manifests are the truth.
 */
export async function advancePointer(
  remote: ObjectStore,
  { name, kind, manifest }: { name: string; kind: RemotePointer['kind']; manifest: Manifest },
): Promise<PointerMove> {
  const { run, attempt, step, save } = manifest;
  const bytes = Buffer.from(`${JSON.stringify({ schema: POINTER_SCHEMA, run, attempt, step, save, name, kind })}\n`);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = await readPointer(remote);
    const rollback = await remoteRollback(remote);
    const theirs = found?.pointer ?? null;
    if (theirs !== null && theirs.run === run) {
      if (theirs.save === save) return { moved: true };
      if (isLeftOut(manifest, rollback) || (!isLeftOut(theirs, rollback) && isNewer(theirs, manifest)))
        return { moved: false, attempt: theirs.attempt, step: theirs.step };
    }
    const written = found === null ? await remote.create(POINTER_KEY, bytes) : await remote.replace(POINTER_KEY, bytes, found.version);
    if (written.isWritten) return { moved: true };
  }
  throw contended(remote, 'the pointer');
}

/** By attempt, then step, as the folder of a run is read. */
export function isNewer(one: Age, other: Age): boolean {
  return one.attempt > other.attempt || (one.attempt === other.attempt && one.step > other.step);
}

/** Whether somebody has rolled the run back from it; whatever it is called. */
export function isLeftOut({ attempt, step }: Age, rollback: Rollback | null): boolean {
  return isRolledBack({ manifest: { attempt, step } }, rollback);
}
