import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { LIMITS } from '../limits.ts';
import { rememberChanged } from '../store/last-good-cache.ts';
import { at } from '../store/layout.ts';
import type { SealedCheckpoint } from '../store/scan.ts';
import type { Store } from '../store/store.ts';
import type { ObjectStore } from './backend.ts';
import { type Claims, openClaims } from './claim/claims.ts';
import { takeCopyName } from './copy-name.ts';
import type { Journal } from './journal.ts';
import { manifestKey } from './keys.ts';
import { claimOf, removeOrphans } from './orphans.ts';
import { planBytes } from './plan.ts';
import { advancePointer, claimPrefix, isLeftOut, type PointerMove } from './pointer.ts';
import { prove } from './prove.ts';
import type { RateLimit } from './rate-limit.ts';
import { shareRollback } from './remote-rollback.ts';
import { shipFiles } from './ship-files.ts';
import { recordShipped } from './shipped.ts';

export interface ShipOptions {
  readonly store: Store;
  /** Opened with {@link stop}'s signal, so that the first failure ends everything that is under way. */
  readonly remote: ObjectStore;
  readonly stop: AbortController;
  /** Ends the waiting for another process; without it only {@link stop} does. */
  readonly signal?: AbortSignal;
  readonly journal: Journal;
  readonly limit: RateLimit;
  /** Transfers at a time. */
  readonly parallel: number;
  readonly clock: Clock;
  readonly onProgress?: (progress: ShipProgress) => void;
  /** Another process ships the same checkpoint to the same place; told again and again while it is waited for. */
  readonly onWait?: (pid: number | null) => void;
}

export interface ShipProgress {
  readonly done: number;
  readonly total: number;
  readonly current: string;
}

export interface Shipped {
  readonly name: string;
  /** What the copy is called below the address: the same, or a name of its own where another save has that one. */
  readonly copy: string;
  readonly step: number;
  readonly attempt: number;
  readonly save: string;
  /** `already`: a copy was there, complete, before this run. */
  readonly state: 'shipped' | 'already';
  readonly files: number;
  readonly bytes: number;
  /** Bytes that this run sent; the rest was there. */
  readonly sentBytes: number;
  readonly durationMs: number;
  readonly pointer: PointerMove;
  /** Beginnings of uploads that nobody would have finished. */
  readonly removedUploads: number;
  /** Why others of them could not be removed; null when nothing was in the way. */
  readonly cleanUpProblem: string | null;
  /** The copy is noted in the run's folder; false on a volume that cannot be written. */
  readonly isRecorded: boolean;
}

/**
 * Copies a sealed checkpoint. The order makes the proof: every file's bytes, each checked by the store against the manifest's checksums; what the
 * store says it then holds, once more; the manifest, created only if absent; the pointer. A copy without its manifest does not count for anybody.
 */
export async function shipCheckpoint(checkpoint: SealedCheckpoint, options: ShipOptions): Promise<Shipped> {
  const { store, remote, stop, signal = stop.signal, clock, onWait } = options;
  const claims = openClaims(at.store(store.path, 'shipping'), { clock, signal });
  // Two who send the same objects would end each other's uploads.
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
  const manifestBytes = store.fs.readFile(checkpoint.manifestFile);
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

/** Somebody has decided on another node that the run goes on from before it. */
function rolledBack(remote: ObjectStore, name: string): HoldfastError {
  return new HoldfastError('REMOTE_CONFLICT', {
    message: `the run was rolled back at ${printable(remote.url)}, and ${printable(name)} is among what does not count any more`,
    hint: 'It was decided on another node. holdfast fetch brings the decision and what counts; holdfast rollback decides anew.',
  });
}

/** Whether this very manifest is there; another one means that the name is taken. */
async function remoteManifestIs(remote: ObjectStore, key: string, expected: Buffer): Promise<boolean> {
  const found = await remote.read(key, LIMITS.documentBytes);
  if (found === null) return false;
  if (found.bytes.equals(expected)) return true;
  throw new HoldfastError('REMOTE_CONFLICT', {
    message: `another checkpoint is sealed at ${printable(remote.url)}/${printable(key)}`,
    hint: 'Nothing is ever replaced. Use another prefix.',
  });
}

/** The manifest makes the copy count, so it goes last, and only where there is none. */
async function sealRemote(remote: ObjectStore, key: string, bytes: Buffer): Promise<void> {
  const { isWritten } = await remote.create(key, bytes);
  // Lost answers and a second process that ships the same end here as well: what lies there decides.
  if (!isWritten && !(await remoteManifestIs(remote, key, bytes))) {
    throw new HoldfastError('REMOTE_CONFLICT', { message: `${printable(remote.url)}/${printable(key)} can neither be created nor read` });
  }
  await prove(remote, key, planBytes(bytes));
}
