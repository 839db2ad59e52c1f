import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { type Manifest, parseManifest } from '../../seal/manifest.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { type CopyPlace, readNameRecord } from './copy-name.ts';
import { layoutProblem } from './layout-problem.ts';
import { copyNameProblem } from './pointer.ts';
import { type CheckpointKind, manifestKey } from '../backends/keys.ts';

/** A copy whose manifest is there. */
export interface RemoteCheckpoint {
  /** The checkpoint's name in the folder of its run, and where its manifest lies there. */
  readonly name: string;
  readonly kind: CheckpointKind;
  readonly copy: CopyPlace;
  readonly manifest: Manifest;
  /** The bytes of the manifest. */
  readonly text: Buffer;
}

/** Finds the copy that the user names. */
export async function findNamed(remote: ObjectStore, wanted: string): Promise<RemoteCheckpoint> {
  const problem = copyNameProblem(wanted);
  if (problem !== null) throw new HoldfastError('USAGE', { message: `--checkpoint "${printable(wanted)}" ${problem}` });
  const asFolder = await readCopy(remote, { name: wanted, kind: 'directory' });
  return asFolder ?? (await readCopy(remote, { name: wanted, kind: 'files' })) ?? notFound(remote, wanted);
}

/** Reads a copy; null when its manifest is missing, because ship never finished it. */
export async function readCopy(remote: ObjectStore, copy: CopyPlace): Promise<RemoteCheckpoint | null> {
  const read = await remote.read(manifestKey(copy.name, copy.kind), LIMITS.documentBytes);
  if (read === null) return null;
  const parsed = parseManifest(read.bytes.toString('utf8'));
  if (!parsed.ok) throw invalid(remote, copy.name, parsed.reason);
  const { manifest } = parsed;
  const record = await readNameRecord(remote, copy.name);
  // An unreadable record, or one of another save, says nothing about this save's name.
  const { name, kind } = record?.save === manifest.save ? record : copy;
  const problem = layoutProblem(manifest, { name, kind });
  if (problem !== null) throw invalid(remote, copy.name, problem);
  return { name, kind, copy, manifest, text: read.bytes };
}

/**
 * Whether the copy itself is bad: incomplete, or different from its seal. An older copy may be
 * good.
 */
export function isBadCopy(thrown: unknown): thrown is HoldfastError {
  return thrown instanceof HoldfastError && ['CHECKSUM_MISMATCH', 'REMOTE_NOT_FOUND', 'REMOTE_INVALID'].includes(thrown.code);
}

/** Throws REMOTE_NOT_FOUND for a copy name, or for any copy at all (null). */
export function notFound(remote: ObjectStore, name: string | null): never {
  throw new HoldfastError('REMOTE_NOT_FOUND', {
    message: `no complete checkpoint ${name === null ? '' : `"${printable(name)}" `}was found at ${printable(remote.url)}`,
    hint: 'Give the address that was given to holdfast ship. A copy without a manifest was never finished; a copy that the run was rolled back from does not count.',
  });
}

/** Makes the error for a manifest that breaks a rule; `reason` continues "the manifest of …". */
export function invalid(remote: ObjectStore, name: string, reason: string): HoldfastError {
  return new HoldfastError('REMOTE_INVALID', {
    message: `the manifest of ${printable(remote.url)}/${printable(name)} ${reason}`,
    hint: 'Nothing was written. Fetch another checkpoint with --checkpoint, or use the version of Holdfast that shipped it.',
  });
}
