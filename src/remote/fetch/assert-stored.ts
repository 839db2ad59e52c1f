import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { fileKey } from '../backends/keys.ts';
import type { RemoteCheckpoint } from '../pointer/remote-checkpoint.ts';

const HINT =
  'Holdfast fetched nothing of this copy. Ship the checkpoint again from a place where it is whole, or fetch another with --checkpoint.';

/** The sizes of the objects of a copy, by key, as the store lists them. */
async function storedSizes(remote: ObjectStore, { copy, manifest }: RemoteCheckpoint): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>();
  for (const prefix of copy.kind === 'directory' ? [`${copy.name}/`] : manifest.files.map(({ path }) => path))
    for await (const { key, size } of remote.list(prefix)) sizes.set(key, size);
  return sizes;
}

/**
 * Throws REMOTE_NOT_FOUND or CHECKSUM_MISMATCH unless the store holds every object of a copy in its
 * sealed size.
 */
export async function assertStored(remote: ObjectStore, found: RemoteCheckpoint): Promise<void> {
  const sizes = await storedSizes(remote, found);
  for (const { path, size } of found.manifest.files) {
    const key = fileKey(found.copy.name, found.copy.kind, path);
    const stored = sizes.get(key);
    if (stored === size) continue;
    const where = printable(`${remote.url}/${key}`);
    throw stored === undefined
      ? new HoldfastError('REMOTE_NOT_FOUND', { message: `${where} is missing, although its checkpoint was shipped whole`, hint: HINT })
      : new HoldfastError('CHECKSUM_MISMATCH', { message: `${where} has ${stored} bytes, ${size} were sealed`, hint: HINT });
  }
}
