import { join } from 'node:path';
import { crc32c } from '../../core/checksums.ts';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { LIMITS } from '../limits.ts';
import type { SealedFile } from '../store/manifest.ts';
import type { SealedCheckpoint } from '../store/scan.ts';
import type { Store } from '../store/store.ts';
import type { ObjectPlan, ObjectStore, PartBody } from './backend.ts';
import { combineCrc } from '../deep/crc-combine.ts';
import { RequestFailure, UPLOAD_GONE, WRONG_BYTES } from './failure.ts';
import type { Journal } from './journal.ts';
import { fileKey, manifestKey } from './keys.ts';
import { compareStored, planBytes, planObject } from './plan.ts';
import { advancePointer, claimPrefix, type PointerMove } from './pointer.ts';
import type { RateLimit } from './rate-limit.ts';
import { recordShipped } from './shipped.ts';
import { forEachAtOnce, Slots } from './slots.ts';
import { checkSource, openSource } from './source.ts';

export interface ShipOptions {
  readonly store: Store;
  /** Opened with {@link stop}'s signal, so that the first failure ends everything that is under way. */
  readonly remote: ObjectStore;
  readonly stop: AbortController;
  readonly journal: Journal;
  readonly limit: RateLimit;
  /** Transfers at a time. */
  readonly parallel: number;
  readonly clock: Clock;
  readonly onProgress?: (progress: { readonly done: number; readonly total: number; readonly current: string }) => void;
}

export interface Shipped {
  readonly name: string;
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
  /** The copy is noted in the run's folder; false on a volume that cannot be written. */
  readonly isRecorded: boolean;
}

/** Uploads below the prefix that nobody has touched for this long, and that no journal here knows, are nobody's. */
const ABANDONED_MS = 24 * 60 * 60_000;
/** How often an upload that cannot be finished is begun anew. */
const MAX_RESTARTS = 3;

/**
 * Copies a sealed checkpoint. The order makes the proof: every file's bytes, each checked by the store against the manifest's checksums; what the
 * store says it then holds, once more; the manifest, created only if absent; the pointer. A copy without its manifest does not count for anybody.
 */
export async function shipCheckpoint(checkpoint: SealedCheckpoint, options: ShipOptions): Promise<Shipped> {
  const { store, remote, clock } = options;
  const { name, kind, manifest } = checkpoint;
  const started = clock.monotonic();
  await claimPrefix(remote, manifest.run);
  const manifestBytes = store.fs.readFile(checkpoint.manifestFile);
  const isSealedThere = await remoteManifestIs(remote, manifestKey(name, kind), manifestBytes);
  const removedUploads = await removeOrphans(checkpoint, options);
  const sentBytes = await shipFiles(checkpoint, options);
  if (!isSealedThere) await sealRemote(remote, manifestKey(name, kind), manifestBytes);
  const pointer = await advancePointer(remote, checkpoint);
  const { files, step, attempt, save } = manifest;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const shippedAt = new Date(clock.now()).toISOString();
  const isRecorded = recordShipped(store, checkpoint, { url: remote.url, shippedAt, files: files.length, bytes });
  const state = isSealedThere && sentBytes === 0 ? 'already' : 'shipped';
  const durationMs = Math.round(clock.monotonic() - started);
  return { name, step, attempt, save, state, files: files.length, bytes, sentBytes, durationMs, pointer, removedUploads, isRecorded };
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

/** Removes what earlier runs began and this one will not go on with. */
async function removeOrphans({ name, kind, manifest }: SealedCheckpoint, { remote, journal }: ShipOptions): Promise<number> {
  const ours = new Set(manifest.files.map(({ path }) => fileKey(name, kind, path)));
  let count = await remote.removeOldUploads(ABANDONED_MS);
  for (const key of journal.open()) {
    if (ours.has(key)) continue;
    count += await remote.removeUploads(key);
    journal.end(key);
  }
  return count;
}

/** Sends what is not there yet; how many bytes that were. */
async function shipFiles(checkpoint: SealedCheckpoint, options: ShipOptions): Promise<number> {
  const { remote, stop, parallel } = options;
  const { name, kind, manifest } = checkpoint;
  const present = new Map<string, number>();
  for (const prefix of kind === 'directory' ? [`${name}/`] : manifest.files.map(({ path }) => path)) {
    for await (const { key, size } of remote.list(prefix)) present.set(key, size);
  }
  const tally = new Tally(manifest.files, options);
  const begun = new Set(options.journal.open());
  const slots = new Slots(parallel);
  await forEachAtOnce(manifest.files, { width: parallel, stop }, async (file) => {
    const key = fileKey(name, kind, file.path);
    const plan = planObject(file);
    if (present.get(key) === file.size && (await isThere(remote, key, plan))) {
      // A process that died just after the object was complete leaves its note, and perhaps a second beginning.
      if (begun.has(key)) {
        await remote.removeUploads(key);
        options.journal.end(key);
      }
      tally.skip(file);
      return;
    }
    await shipFile({ key, plan, file, path: join(checkpoint.root, file.path) }, { ...options, slots, tally });
  });
  return tally.sent;
}

async function isThere(remote: ObjectStore, key: string, plan: ObjectPlan): Promise<boolean> {
  const stored = await remote.head(key);
  return stored !== null && compareStored(stored, plan) === 'same';
}

interface FileToShip {
  readonly key: string;
  readonly path: string;
  readonly plan: ObjectPlan;
  readonly file: SealedFile;
}

interface Transfer extends ShipOptions {
  readonly slots: Slots;
  readonly tally: Tally;
}

async function shipFile({ key, path, plan, file }: FileToShip, transfer: Transfer): Promise<void> {
  const { remote, limit, slots, tally } = transfer;
  await using handle = await openSource(path, file);
  const body: PartBody = {
    file: handle,
    limit,
    onBytes: (bytes) => tally.add(bytes, file.path),
    check: (offset, size) => checkSource(handle, path, file, { offset, size }),
  };
  if (plan.size <= remote.largestSinglePut) await slots.run(() => remote.putFile(key, plan, body));
  else await shipInParts({ key, plan, body }, transfer);
  await prove(remote, key, plan);
}

async function shipInParts({ key, plan, body }: { key: string; plan: ObjectPlan; body: PartBody }, transfer: Transfer): Promise<void> {
  const { remote, journal, slots, parallel, tally } = transfer;
  journal.begin(key);
  for (let restarts = 0; ; restarts++) {
    let done = 0;
    const counting = { ...body, onBytes: (bytes: number) => ((done += bytes), body.onBytes?.(bytes)) };
    try {
      const upload = await remote.openUpload(key, plan);
      const missing = plan.parts.filter(({ index }) => !upload.held.has(index));
      tally.have(plan.size - missing.reduce((sum, { size }) => sum + size, 0));
      done += plan.size - missing.reduce((sum, { size }) => sum + size, 0);
      const width = upload.isOrdered ? 1 : parallel;
      await forEachAtOnce(missing, { width, stop: new AbortController() }, (part) => slots.run(() => upload.putPart(part, counting)));
      await upload.complete();
      // A beginning whose answer was lost on the way was begun twice.
      await remote.removeUploads(key);
      journal.end(key);
      return;
    } catch (thrown) {
      if (!isLost(thrown) || restarts >= MAX_RESTARTS) throw thrown;
      // The answer to the last part may be all that was lost.
      if (await isThere(remote, key, plan)) {
        await remote.removeUploads(key);
        journal.end(key);
        return;
      }
      tally.have(-done);
    }
  }
}

/** Nobody can go on with the upload: somebody ended it, or bytes in it were damaged on the way while the file here is as it was sealed. */
function isLost(thrown: unknown): boolean {
  if (!(thrown instanceof HoldfastError) || !(thrown.cause instanceof RequestFailure)) return false;
  return thrown.cause.reason === UPLOAD_GONE || thrown.cause.reason === WRONG_BYTES;
}

/** Asks the store what it holds. One that keeps no checksum has to hand the bytes back. */
async function prove(remote: ObjectStore, key: string, plan: ObjectPlan): Promise<void> {
  const stored = await remote.head(key);
  const found = stored === null ? 'different' : compareStored(stored, plan);
  if (found === 'same' || (found === 'unknown' && (await readBack(remote, key, plan)))) return;
  throw new HoldfastError('CHECKSUM_MISMATCH', {
    message: `${printable(remote.url)}/${printable(key)} is not what was sent: the store tells another size or crc32c`,
    hint: 'The copy does not count as shipped. Does another program write to this prefix, or a proxy change answers?',
  });
}

async function readBack(remote: ObjectStore, key: string, plan: ObjectPlan): Promise<boolean> {
  let whole = 0;
  for (const { offset, size } of plan.parts) {
    let sum = 0;
    await remote.readRange(key, { offset, size }, { restart: () => (sum = 0), write: async (bytes) => void (sum = crc32c(bytes, sum)) });
    whole = combineCrc('crc32c', whole, sum, size);
  }
  return whole === plan.crc32c;
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

/** Counts what is done, for progress and for the report. */
class Tally {
  sent = 0;
  #done = 0;
  readonly #total: number;
  readonly #options: ShipOptions;

  constructor(files: readonly SealedFile[], options: ShipOptions) {
    this.#total = files.reduce((sum, { size }) => sum + size, 0);
    this.#options = options;
  }

  add(bytes: number, current: string): void {
    this.sent += bytes;
    this.#done += bytes;
    this.#options.onProgress?.({ done: this.#done, total: this.#total, current });
  }

  have(bytes: number): void {
    this.#done += bytes;
  }

  skip({ size, path }: SealedFile): void {
    this.#done += size;
    this.#options.onProgress?.({ done: this.#done, total: this.#total, current: path });
  }
}
