import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { PART_BYTES } from '../../seal/manifest.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { fetchFile } from './fetch-file.ts';
import { BlockPool } from './range-writer.ts';
import { UNLIMITED } from '../transfer/rate-limit.ts';
import { Slots } from '../transfer/slots.ts';

it('a range with permanently wrong bytes ends the file at once, and fetch requests no range that still waits for its turn', async () => {
  using folder = tempFolder();
  const part = Buffer.alloc(PART_BYTES);
  const asked: number[] = [];
  const remote = {
    url: 's3://bucket',
    async readRange(_key: string, { offset, size }, sink) {
      asked.push(offset);
      for (let at = 0; at < size; at += PART_BYTES) await sink.write(part);
    },
  } satisfies Pick<ObjectStore, 'url' | 'readRange'> as unknown as ObjectStore;
  const right = hex32(crc32c(part));
  const parts = 64;
  const file = {
    path: 'file',
    size: parts * PART_BYTES,
    crc32c: Array.from({ length: parts }, (_, at) => (at === 0 ? 'ffffffff' : right)),
  };
  const options = { run: folder.path, remote, slots: new Slots(1), parallel: 8, blocks: new BlockPool(), limit: UNLIMITED };
  const fetching = fetchFile(join(folder.path, 'file'), 'key', file, {
    ...options,
    signal: new AbortController().signal,
    onBytes: () => {},
  });
  await expect(fetching).rejects.toMatchObject({ code: 'CHECKSUM_MISMATCH' });
  expect(new Set(asked)).toEqual(new Set([0]));
});
