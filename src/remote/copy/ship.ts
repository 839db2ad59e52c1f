import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { rememberChanged } from '../../store/folder/last-good-cache.ts';
import { at } from '../../seal/names.ts';
import type { SealedCheckpoint } from '../../store/folder/scan.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { type Claims, openClaims } from '../claim/claims.ts';
import { takeCopyName } from '../pointer/copy-name.ts';
import { manifestKey } from '../backends/keys.ts';
import { claimOf, removeOrphans } from './copy-leftovers.ts';
import { planBytes } from '../backends/part-plan.ts';
import { advancePointer } from '../pointer/advance-pointer.ts';
import { isLeftOut, type PointerMove } from '../pointer/pointer.ts';
import { claimPrefix } from '../pointer/whose-prefix.ts';
import { prove } from './prove.ts';
import { shareRollback } from '../pointer/remote-rollback.ts';
import type { ShipOptions } from './ship-options.ts';
import { shipFiles } from './ship-files.ts';
import { recordShipped } from './shipped.ts';
import { readSeal } from './upload-source.ts';

/** The result of one `ship`. */
export interface Shipped {
  readonly name: string;
  /** The name of the copy below the address: the checkpoint's own, unless another save has it. */
  readonly copy: string;
  readonly step: number;
  readonly attempt: number;
  readonly save: string;
  /** `already`: the complete copy was there before this run. */
  readonly state: 'shipped' | 'already';
  readonly files: number;
  readonly bytes: number;
  /** Bytes that this run sent; the store held the rest. */
  readonly sentBytes: number;
  readonly durationMs: number;
  readonly pointer: PointerMove;
  /** Abandoned uploads that were removed. */
  readonly removedUploads: number;
  /** Why other abandoned uploads could not be removed; null when there was no problem. */
  readonly cleanUpProblem: string | null;
  /** Whether the copy is noted in the run's folder; false on a volume that cannot be written. */
  readonly isRecorded: boolean;
}

/**
 * Copies a sealed checkpoint and proves the copy. The order makes the proof. First the store checks
 * every file's bytes against the manifest's checksums. Then ship asks the store once more what it
 * holds. Then it creates the manifest, only if absent, and moves the pointer. A copy without its
 * manifest does not count.
 */
export async function shipCheckpoint(checkpoint: SealedCheckpoint, options: ShipOptions): Promise<Shipped> {
  const { store, remote, stop, signal = stop.signal, clock, onWait } = options;
  const claims = openClaims(at.store(store.path, 'shipping'), { root: store.path, clock, signal });
  // Two processes that send the same objects would abort each other's uploads.
  const claim = await claims.take(claimOf(remote.url, checkpoint.name), (owner) => onWait?.(owner?.pid ?? null));
  try {
    return await shipClaimed(checkpoint, { ...options, claims });
  } catch (thrown) {
    if (thrown instanceof HoldfastError && thrown.code === 'SOURCE_CHANGED') rememberChanged(store, checkpoint.manifest);
    throw thrown;
  } finally {
    claim.release();
  }
}

async function shipClaimed(checkpoint: SealedCheckpoint, options: ShipOptions & { readonly claims: Claims }): Promise<Shipped> {
  const { store, remote, stop, signal = stop.signal, clock } = options;
  const { name, manifest } = checkpoint;
  const started = clock.monotonic();
  await claimPrefix(remote, manifest.run);
  const { holds } = await shareRollback(remote, store);
  if (isLeftOut(manifest, holds)) throw rolledBack(remote, name);
  const copy = await takeCopyName(remote, checkpoint);
  const manifestBytes = readSeal(store, checkpoint);
  const sealKey = manifestKey(copy.name, copy.kind);
  const isSealedThere = await remoteManifestIs(remote, sealKey, manifestBytes);
  const { removed, problem } = await removeOrphans(checkpoint, { ...options, signal, copy });
  const sentBytes = await shipFiles(checkpoint, { ...options, copy });
  if (!isSealedThere) await sealRemote(remote, sealKey, manifestBytes);
  const pointer = await advancePointer(remote, { ...copy, manifest });
  const { files, step, attempt, save } = manifest;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const shippedAt = new Date(clock.now()).toISOString();
  const isRecorded = recordShipped(store, checkpoint, { url: remote.url, name: copy.name, shippedAt, files: files.length, bytes });
  const state = isSealedThere && sentBytes === 0 ? 'already' : 'shipped';
  const durationMs = Math.round(clock.monotonic() - started);
  const counts = { files: files.length, bytes, sentBytes, durationMs, removedUploads: removed, cleanUpProblem: problem };
  return { name, copy: copy.name, step, attempt, save, state, ...counts, pointer, isRecorded };
}

/** The error when a rollback on another node excludes this checkpoint. */
function rolledBack(remote: ObjectStore, name: string): HoldfastError {
  return new HoldfastError('REMOTE_CONFLICT', {
    message: `the run was rolled back at ${printable(remote.url)}, and ${printable(name)} no longer counts`,
    hint: 'Another node decided this. holdfast fetch downloads the decision and the checkpoints that count; holdfast rollback replaces the decision.',
  });
}

/** Whether this very manifest is there. Another manifest means that the name is taken. */
async function remoteManifestIs(remote: ObjectStore, key: string, expected: Buffer): Promise<boolean> {
  const found = await remote.read(key, LIMITS.documentBytes);
  if (found === null) return false;
  if (found.bytes.equals(expected)) return true;
  throw new HoldfastError('REMOTE_CONFLICT', {
    message: `another checkpoint is sealed at ${printable(remote.url)}/${printable(key)}`,
    hint: 'Holdfast never replaces a copy. Use another prefix.',
  });
}

/** Writes the manifest last and only if absent, because it makes the copy count. */
async function sealRemote(remote: ObjectStore, key: string, bytes: Buffer): Promise<void> {
  const { isWritten } = await remote.create(key, bytes);
  // A lost answer or a second process with the same copy also ends here: the stored object decides.
  if (!isWritten && !(await remoteManifestIs(remote, key, bytes))) {
    throw new HoldfastError('REMOTE_CONFLICT', { message: `${printable(remote.url)}/${printable(key)} can neither be created nor read` });
  }
  await prove(remote, key, planBytes(bytes));
}
