import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { LIMITS } from '../limits.ts';
import { setOf } from '../store/layout.ts';
import { type Manifest, parseManifest } from '../store/manifest.ts';
import { nameProblem } from '../store/relative-path.ts';
import type { ObjectStore } from './backend.ts';
import { type CopyPlace, readNameRecord } from './copy-name.ts';
import { type CheckpointKind, manifestKey } from './keys.ts';

/** A copy whose manifest is there. */
export interface RemoteCheckpoint {
  /** What it is called in the folder of its run, and how its manifest lies there. */
  readonly name: string;
  readonly kind: CheckpointKind;
  readonly copy: CopyPlace;
  readonly manifest: Manifest;
  /** The manifest as it is. */
  readonly text: Buffer;
}

/** The copy that a person names. */
export async function findNamed(remote: ObjectStore, wanted: string): Promise<RemoteCheckpoint> {
  const problem = nameProblem(wanted);
  if (problem !== null) throw new HoldfastError('USAGE', { message: `--checkpoint "${printable(wanted)}" ${problem}` });
  const asFolder = await readCopy(remote, { name: wanted, kind: 'directory' });
  return asFolder ?? (await readCopy(remote, { name: wanted, kind: 'files' })) ?? notFound(remote, wanted);
}

/** Null when its manifest is not there: it was never finished. */
export async function readCopy(remote: ObjectStore, copy: CopyPlace): Promise<RemoteCheckpoint | null> {
  const read = await remote.read(manifestKey(copy.name, copy.kind), LIMITS.documentBytes);
  if (read === null) return null;
  const parsed = parseManifest(read.bytes.toString('utf8'));
  if (!parsed.ok) throw invalid(remote, copy.name, parsed.reason);
  const { manifest } = parsed;
  const record = await readNameRecord(remote, copy.name);
  // One that says nothing about this save says nothing about how it is called.
  const { name, kind } = record?.save === manifest.save ? record : copy;
  const stray = kind === 'files' ? manifest.files.find(({ path }) => !liesBeside(path, name)) : undefined;
  if (stray !== undefined) throw invalid(remote, copy.name, `names "${printable(stray.path)}", which does not lie beside it`);
  return { name, kind, copy, manifest, text: read.bytes };
}

/** As the folder of a run is read: a manifest beside its files speaks for those that are called like it. */
function liesBeside(path: string, name: string): boolean {
  return !path.includes('/') && !path.startsWith('.') && (path === name || setOf(path) === name);
}

/** Nothing is wrong here or on the way: the copy itself is not what was sealed, or not all there. */
export function isBadCopy(thrown: unknown): thrown is HoldfastError {
  return thrown instanceof HoldfastError && ['CHECKSUM_MISMATCH', 'REMOTE_NOT_FOUND', 'REMOTE_INVALID'].includes(thrown.code);
}

export function notFound(remote: ObjectStore, name: string | null): never {
  throw new HoldfastError('REMOTE_NOT_FOUND', {
    message: `no complete checkpoint ${name === null ? '' : `"${printable(name)}" `}was found at ${printable(remote.url)}`,
    hint: 'Give the address that was given to holdfast ship. Copies whose manifest is missing were never finished; those that the run was rolled back from do not count.',
  });
}

export function invalid(remote: ObjectStore, name: string, reason: string): HoldfastError {
  return new HoldfastError('REMOTE_INVALID', {
    message: `the manifest of ${printable(remote.url)}/${printable(name)} ${reason}`,
    hint: 'Nothing was written. Fetch another checkpoint with --checkpoint, or use the version of Holdfast that shipped it.',
  });
}
