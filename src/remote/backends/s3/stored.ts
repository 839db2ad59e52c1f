import type { StoredChecksum, StoredObject } from '../backend.ts';
import { RequestFailure } from '../../transfer/failure.ts';
import { decodeCrc32c } from '../part-plan.ts';
import type { S3Client } from './s3-client.ts';

/** Reads S3's description of an object, with its checksum; null when there is no object. */
export async function readStored(client: S3Client, key: string): Promise<StoredObject | null> {
  try {
    const { headers } = await client.call({ method: 'HEAD', key, headers: { 'x-amz-checksum-mode': 'ENABLED' } });
    const sum = headers['x-amz-checksum-crc32c'];
    return {
      size: Number(headers['content-length']),
      version: headers.etag ?? '',
      checksum: typeof sum === 'string' ? parseChecksum(sum, headers['x-amz-checksum-type']) : null,
    };
  } catch (thrown) {
    if (thrown instanceof RequestFailure && thrown.status === 404 && thrown.reason !== 'NoSuchBucket') return null;
    throw thrown;
  }
}

/** `AAAAAA==` covers the whole object, `AAAAAA==-12` the checksums of twelve parts. */
function parseChecksum(text: string, type: unknown): StoredChecksum | null {
  const [value = '', count] = text.split('-');
  const crc32c = decodeCrc32c(value);
  if (crc32c === null) return null;
  if (count !== undefined) return { kind: 'parts', crc32c, count: Number(count) };
  // Without the number of parts, a checksum over them proves nothing.
  return type === 'COMPOSITE' ? null : { kind: 'whole', crc32c };
}
