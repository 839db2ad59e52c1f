import { join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import type { SealedFile } from '../../seal/manifest.ts';
import type { SealedCheckpoint } from '../../store/folder/scan.ts';
import type { ObjectPlan, ObjectStore, PartBody } from '../backends/backend.ts';
import type { CopyPlace } from '../pointer/copy-name.ts';
import { RequestFailure, UPLOAD_GONE, WRONG_BYTES } from '../transfer/failure.ts';
import { fileKey } from '../backends/keys.ts';
import { compareStored, planObject } from '../backends/part-plan.ts';
import { prove } from './prove.ts';
import type { ShipOptions } from './ship-options.ts';
import { forEachAtOnce, Slots } from '../transfer/slots.ts';
import { checkSource, openSource } from './upload-source.ts';

/** How often an upload that cannot be finished is restarted. */
const MAX_RESTARTS = 3;

/** Sends the files that the store does not hold yet, and returns how many bytes it sent. */
export async function shipFiles(checkpoint: SealedCheckpoint, wishes: ShipOptions & { readonly copy: CopyPlace }): Promise<number> {
  const parallel = Math.min(wishes.parallel, wishes.limit.mostTransfers);
  const options = { ...wishes, parallel };
  const { remote, stop, copy } = options;
  const { name, manifest } = checkpoint;
  const present = new Map<string, number>();
  for (const prefix of copy.kind === 'directory' ? [`${copy.name}/`] : manifest.files.map(({ path }) => path)) {
    for await (const { key, size } of remote.list(prefix)) present.set(key, size);
  }
  const tally = new Tally(manifest.files, options);
  const begun = new Set(options.journal.open().map(({ key }) => key));
  const slots = new Slots(parallel);
  await forEachAtOnce(manifest.files, { width: parallel, stop }, async (file) => {
    const key = fileKey(copy.name, copy.kind, file.path);
    const plan = planObject(file);
    if (present.get(key) === file.size && (await isThere(remote, key, plan))) {
      // A process that died just after the object was complete leaves its note, and perhaps a
      // second upload.
      if (begun.has(key)) {
        await remote.removeUploads(key);
        options.journal.end(key);
      }
      tally.skip(file);
      return;
    }
    await shipFile({ key, plan, file, of: name, path: join(checkpoint.root, file.path) }, { ...options, slots, tally });
  });
  return tally.sent;
}

async function isThere(remote: ObjectStore, key: string, plan: ObjectPlan): Promise<boolean> {
  const stored = await remote.head(key);
  return stored !== null && compareStored(stored, plan) === 'same';
}

interface FileToShip {
  readonly key: string;
  /** The checkpoint's name. */
  readonly of: string;
  readonly path: string;
  readonly plan: ObjectPlan;
  readonly file: SealedFile;
}

interface Transfer extends ShipOptions {
  readonly slots: Slots;
  readonly tally: Tally;
}

async function shipFile({ key, of, path, plan, file }: FileToShip, transfer: Transfer): Promise<void> {
  const { remote, limit, slots, tally, store } = transfer;
  const handle = await openSource(store.path, path, file);
  try {
    const body: PartBody = {
      file: handle,
      limit,
      onBytes: (bytes) => tally.add(bytes, file.path),
      check: (offset, size) => checkSource(handle, path, file, { offset, size }),
    };
    if (plan.size <= remote.largestSinglePut) await slots.run(() => remote.putFile(key, plan, body));
    else await shipInParts({ key, of, plan, body }, transfer);
  } finally {
    await handle.close();
  }
  await prove(remote, key, plan);
}

interface ObjectToShip extends Pick<FileToShip, 'key' | 'of' | 'plan'> {
  readonly body: PartBody;
}

async function shipInParts({ key, of, plan, body }: ObjectToShip, transfer: Transfer): Promise<void> {
  const { remote, journal, slots, parallel, tally } = transfer;
  journal.begin(key, of);
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
      // If the answer to a start was lost, the upload was started twice.
      await remote.removeUploads(key);
      journal.end(key);
      return;
    } catch (thrown) {
      if (!isLost(thrown) || restarts >= MAX_RESTARTS) throw thrown;
      // Perhaps only the answer to the last part was lost.
      if (await isThere(remote, key, plan)) {
        await remote.removeUploads(key);
        journal.end(key);
        return;
      }
      tally.have(-done);
    }
  }
}

/**
 * Whether no process can resume the upload: another process aborted it, or bytes were damaged on
 * the way while the file here still matches its seal.
 */
function isLost(thrown: unknown): boolean {
  if (!(thrown instanceof HoldfastError) || !(thrown.cause instanceof RequestFailure)) return false;
  return thrown.cause.reason === UPLOAD_GONE || thrown.cause.reason === WRONG_BYTES;
}

/** Counts finished files and bytes, for progress and for the report. */
class Tally {
  sent = 0;
  #done = 0;
  readonly #total: number;
  readonly #onProgress: ShipOptions['onProgress'];

  constructor(files: readonly SealedFile[], { onProgress }: ShipOptions) {
    this.#total = files.reduce((sum, { size }) => sum + size, 0);
    this.#onProgress = onProgress;
  }

  add(bytes: number, current: string): void {
    this.sent += bytes;
    this.#done += bytes;
    this.#onProgress?.({ done: this.#done, total: this.#total, current });
  }

  have(bytes: number): void {
    this.#done += bytes;
  }

  skip({ size, path }: SealedFile): void {
    this.#done += size;
    this.#onProgress?.({ done: this.#done, total: this.#total, current: path });
  }
}
