import type { JsonObject } from '../../../core/json.ts';
import type { ObjectPlan, StoredObject } from '../backend.ts';
import { RequestFailure } from '../../transfer/failure.ts';
import { compareStored, decodeCrc32c } from '../part-plan.ts';

/** Reads Google's description of an object. */
export function storedOf(metadata: JsonObject): StoredObject {
  const { size, generation, crc32c } = metadata;
  const sum = typeof crc32c === 'string' ? decodeCrc32c(crc32c) : null;
  return {
    size: Number(size),
    version: typeof generation === 'string' ? generation : '',
    checksum: sum === null ? null : { kind: 'whole', crc32c: sum },
  };
}

/** Compares the answer to an upload with what was sent. */
export function assertStored(metadata: JsonObject | null, plan: ObjectPlan): void {
  if (metadata === null || compareStored(storedOf(metadata), plan) !== 'different') return;
  throw new RequestFailure({ message: 'the store holds other bytes than were sent', status: 200, reason: 'CHECKSUM', isTransient: false });
}
