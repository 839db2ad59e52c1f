import { ChunkElements, type ChunkRecord } from './chunk-elements.ts';
import { walkExtensibleArray } from './extensible-array.ts';
import { Fields } from './field-widths.ts';
import { walkFixedArray } from './fixed-array.ts';
import type { Image } from './file-image.ts';
import type { ChunkIndex } from './dataset-layout.ts';
import { walkTree1 } from './tree-1.ts';
import { walkTree2 } from './tree-2.ts';

const CHUNK_TREE = 1;
/** Kinds of version 2 B-tree records for chunks without filters, and with filters. */
const PLAIN_RECORDS = 10;
const FILTERED_RECORDS = 11;

/** The description of a dataset's chunks. */
export interface Chunking {
  readonly index: ChunkIndex;
  /** Dimensions of the dataset. */
  readonly rank: number;
  /** Bytes of a chunk before any filter. */
  readonly chunkBytes: number;
  /** How many chunks the shape needs. */
  readonly count: number;
}

/** Visits every chunk that the writer stored. */
export function walkChunks(image: Image, chunking: Chunking, visit: (chunk: ChunkRecord) => void): void {
  const { index, rank } = chunking;
  const { address } = index;
  if (address === null) return;
  switch (index.kind) {
    case 'single':
      visit({ address, size: index.filtered?.size ?? null, filterMask: index.filtered?.mask ?? 0 });
      break;
    case 'implicit':
      walkImplicit(image, address, chunking, visit);
      break;
    case 'tree-1':
      walkTree1(image, { address, kind: CHUNK_TREE, keyBytes: 8 + 8 * (rank + 1) }, (key, child) => visit(oldRecord(key, child)));
      break;
    case 'fixed-array':
      walkFixedArray(image, address, new ChunkElements(image.widths, visit));
      break;
    case 'extensible-array':
      walkExtensibleArray(image, address, new ChunkElements(image.widths, visit));
      break;
    case 'tree-2':
      walkTree2(image, { address, kinds: [PLAIN_RECORDS, FILTERED_RECORDS] }, (record, kind) =>
        visit(newRecord(image, record, kind, rank)),
      );
      break;
  }
}

/** Visits chunks stored one after another. */
function walkImplicit(image: Image, address: number, { count, chunkBytes }: Chunking, visit: (chunk: ChunkRecord) => void): void {
  image.demand(address, count * chunkBytes, 'the chunks of a dataset');
  image.budget.spend('entries', count);
  for (let i = 0; i < count; i++) visit({ address: address + i * chunkBytes, size: null, filterMask: 0 });
}

/**
 * Reads a key of a version 1 B-tree. It begins with the size of the chunk and the skipped filters.
 */
function oldRecord(key: Buffer, address: number): ChunkRecord {
  return { address, size: key.readUInt32LE(0), filterMask: key.readUInt32LE(4) };
}

/**
 * Reads a record: the address, for filtered chunks the size and the mask, then the place of the
 * chunk in each dimension.
 */
function newRecord(image: Image, record: Buffer, kind: number, rank: number): ChunkRecord {
  const fields = new Fields(record, image.widths, 'a record of a chunk', 0);
  const address = fields.address() ?? fields.fail('it leads nowhere');
  if (kind === PLAIN_RECORDS) return { address, size: null, filterMask: 0 };
  const sizeBytes = record.length - image.widths.address - 4 - 8 * rank;
  if (sizeBytes < 1 || sizeBytes > 8) fields.fail(`it has ${record.length} bytes`);
  return { address, size: fields.uint(sizeBytes), filterMask: fields.u32() };
}
