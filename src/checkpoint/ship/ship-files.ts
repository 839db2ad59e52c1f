import { join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import type { SealedFile } from '../store/manifest.ts';
import type { SealedCheckpoint } from '../store/scan.ts';
import type { ObjectPlan, ObjectStore, PartBody } from './backend.ts';
import type { CopyPlace } from './copy-name.ts';
import { RequestFailure, UPLOAD_GONE, WRONG_BYTES } from './failure.ts';
import { fileKey } from './keys.ts';
import { compareStored, planObject } from './plan.ts';
import { prove } from './prove.ts';
import type { ShipOptions } from './ship.ts';
import { forEachAtOnce, Slots } from './slots.ts';
import { checkSource, openSource } from './source.ts';

/** How often an upload that cannot be finished is begun anew. */
const MAX_RESTARTS = 3;

/** Sends what is not there yet; how many bytes that were. */
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
      // A process that died just after the object was complete leaves its note, and perhaps a second beginning.
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
  const { remote, limit, slots, tally } = transfer;
  const handle = await openSource(path, file);
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

/** Counts what is done, for progress and for the report. */
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
