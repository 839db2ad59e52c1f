import { crc32c } from '../../core/checksums.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { combineCrc } from '../../bytes/hashing/crc-combine.ts';
import type { ObjectPlan, ObjectStore } from '../backends/backend.ts';
import { compareStored } from '../backends/part-plan.ts';

/**
 * Proves that the store holds an object as planned. A store that keeps no checksum must return the
 * bytes.
 */
export async function prove(remote: ObjectStore, key: string, plan: ObjectPlan): Promise<void> {
  const stored = await remote.head(key);
  const found = stored === null ? 'different' : compareStored(stored, plan);
  if (found === 'same' || (found === 'unknown' && (await readBack(remote, key, plan)))) return;
  throw new HoldfastError('CHECKSUM_MISMATCH', {
    message: `${printable(remote.url)}/${printable(key)} differs from the uploaded bytes: the store reports another size or crc32c`,
    hint: 'The copy does not count as shipped. Does another program write to this prefix, or does a proxy change the answers?',
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
