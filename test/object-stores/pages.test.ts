import { describe, expect, it } from 'vitest';
import type { ObjectStore } from '../../src/remote/backends/backend.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { openAt } from './ship-place.ts';

/** Pages that each name themselves as the next. */
const OBJECTS = '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></ListBucketResult>';
const UPLOADS =
  '<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker><NextUploadIdMarker>b</NextUploadIdMarker></ListMultipartUploadsResult>';
const ITEMS = '{"items":[],"nextPageToken":"a"}';

async function listAll(remote: ObjectStore): Promise<number> {
  let count = 0;
  for await (const _ of remote.list('')) count++;
  return count;
}

describe('a list that a store never ends', () => {
  it.each<[string, string, string, (remote: ObjectStore) => Promise<number>]>([
    ['of objects (S3)', 's3://bucket/run', OBJECTS, listAll],
    ['of uploads (S3)', 's3://bucket/run', UPLOADS, (remote) => remote.removeOldUploads(0, new Set(), async () => true)],
    ['of objects (GCS)', 'gs://bucket/run', ITEMS, listAll],
  ])('%s is an error when it leads back to the same page', async (_, url, body, ask) => {
    await using store = await startFaultProxy(1, () => ({ kind: 'answer', status: 200, body }));
    const keys = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_REGION: 'us-east-1' };
    await using remote = openAt(url, { ...keys, AWS_ENDPOINT_URL_S3: store.url, STORAGE_EMULATOR_HOST: store.url });
    await expect(ask(remote)).rejects.toMatchObject({ code: 'REMOTE_INVALID', message: expect.stringContaining('same page') as unknown });
    expect(store.requests).toHaveLength(2);
  });
});
