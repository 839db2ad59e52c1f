import { excerpt } from '../../../core/printable.ts';
import { Fault } from '../../reading/fault.ts';
import type { Findings } from '../../reading/findings.ts';
import type { ChunkRecord } from './chunk-elements.ts';
import { walkChunks } from './chunk-index.ts';
import { elementCount, readDataspace, type Shape } from './dataspace.ts';
import { type Datatype, readDatatype } from './datatype.ts';
import { endsWithChecksum, fixedGrowth, type Pipeline, readPipeline } from './filter-pipeline.ts';
import type { Image } from './file-image.ts';
import { type Layout, readLayout } from './dataset-layout.ts';
import { MESSAGE, type Message } from './object-header.ts';
import { messageFields } from './shared-message.ts';

/** How many entries of the budget one listed checksum costs. */
const CHECK_COST = 3;

/** The description of a dataset in its header. */
export interface Dataset {
  readonly shape: Shape;
  readonly type: Datatype;
  readonly layout: Layout;
  readonly pipeline: Pipeline;
  readonly hasExternalFiles: boolean;
  /** Bytes of its values before any filter. */
  readonly bytes: number;
}

/** Returns true when the header belongs to a dataset. */
export function isDataset(messages: readonly Message[]): boolean {
  return messages.some(({ type }) => type === MESSAGE.layout);
}

/** Reads a dataset from the messages of its object header. */
export function readDataset(image: Image, messages: readonly Message[]): Dataset {
  const fields = (type: number, what: string) => messageFields(image, messages, type, what);
  const layout = readLayout(demand(fields(MESSAGE.layout, 'the layout of a dataset')));
  const shape = readDataspace(demand(fields(MESSAGE.dataspace, 'the shape of a dataset')));
  const type = readDatatype(demand(fields(MESSAGE.datatype, 'the type of a dataset')));
  const filters = fields(MESSAGE.filters, 'the filters of a dataset');
  const pipeline = filters === null ? [] : readPipeline(filters);
  const hasExternalFiles = messages.some((message) => message.type === MESSAGE.externalFiles);
  return { shape, type, layout, pipeline, hasExternalFiles, bytes: elementCount(shape) * type.size };
}

function demand<T>(part: T | null): T {
  if (part === null) throw new Fault('HDF5_STRUCTURE_INVALID', 'the header of a dataset does not give its shape and its type');
  return part;
}

type Unchunked = Extract<Layout, { readonly kind: 'compact' | 'contiguous' }>;

/**
 * Checks that the bytes of a dataset are where its header says, lists their checksums, and adds
 * them to the payload.
 */
export function checkStorage(image: Image, dataset: Dataset, name: string, findings: Findings): void {
  const { layout, bytes, hasExternalFiles } = dataset;
  const what = `dataset ${excerpt(name)}`;
  if (layout.kind === 'virtual' || hasExternalFiles) {
    findings.payloadBytes += Number.isSafeInteger(bytes) ? bytes : 0;
    findings.add(
      'HDF5_ELSEWHERE',
      { file: image.source.file },
      `the data of ${what} lies in other files, which are not judged with this one`,
    );
    return;
  }
  if (bytes === 0) return;
  if (layout.kind === 'chunked') {
    checkChunks(image, { ...dataset, layout }, what, findings);
    return;
  }
  demandSize(image, layout, bytes, what);
  if (layout.kind === 'contiguous') {
    if (layout.address === null) throw notWritten(what, 'none of its values were');
    image.demand(layout.address, bytes, what);
    image.extents.claim(image.at(layout.address), bytes, what);
  }
  findings.payloadBytes += bytes;
}

function demandSize(image: Image, layout: Unchunked, bytes: number, what: string): void {
  const isUnallocated = layout.kind === 'contiguous' && layout.address === null;
  if (layout.size === null || layout.size === bytes || isUnallocated) return;
  throw new Fault('HDF5_SIZE_MISMATCH', `${what} needs ${bytes} bytes for its shape and type, ${layout.size} are set aside for it`, {
    offset: layout.kind === 'compact' ? layout.at : image.at(layout.address ?? 0),
    expected: `${bytes} bytes`,
    found: `${layout.size} bytes`,
  });
}

function notWritten(what: string, part: string): Fault {
  return new Fault('HDF5_NOT_WRITTEN', `${what} has a shape, but ${part} ever written: a loader gets the fill value, zero, in their place`);
}

interface Chunked extends Dataset {
  readonly layout: Extract<Layout, { readonly kind: 'chunked' }>;
}

function checkChunks(image: Image, dataset: Chunked, what: string, findings: Findings): void {
  const { chunk, index } = dataset.layout;
  const shape = dataset.shape ?? [];
  if (chunk.length !== shape.length + 1 || chunk.at(-1) !== dataset.type.size) {
    throw new Fault(
      'HDF5_SIZE_MISMATCH',
      `${what} has ${shape.length} dimensions and elements of ${dataset.type.size} bytes, its chunks do not`,
    );
  }
  const count = shape.reduce((product, size, i) => product * Math.ceil(size / (chunk[i] as number)), 1);
  const chunkBytes = chunk.reduce((product, size) => product * size, 1);
  let found = 0;
  walkChunks(image, { index, rank: shape.length, chunkBytes, count }, (record) => {
    found++;
    addChunk(image, dataset, { record, chunkBytes, what }, findings);
  });
  if (found < count) throw notWritten(what, `only ${found} of its ${count} chunks were`);
}

interface Chunk {
  readonly record: ChunkRecord;
  readonly chunkBytes: number;
  readonly what: string;
}

function addChunk(image: Image, { pipeline, layout, type }: Chunked, { record, chunkBytes, what }: Chunk, findings: Findings): void {
  const { address, filterMask } = record;
  const stored = record.size ?? chunkBytes;
  const growth = layout.leavesEdgesUnfiltered ? null : fixedGrowth(pipeline, filterMask);
  const offset = image.at(address);
  if (growth !== null && stored !== chunkBytes + growth) {
    throw new Fault('HDF5_SIZE_MISMATCH', `a chunk of ${what} must take ${chunkBytes + growth} bytes, its index says ${stored}`, {
      offset,
      expected: `${chunkBytes + growth} bytes`,
      found: `${stored} bytes`,
    });
  }
  image.demand(address, stored, what);
  image.extents.claim(offset, stored, what);
  if (layout.leavesEdgesUnfiltered || !endsWithChecksum(pipeline, filterMask) || stored < 4) {
    findings.payloadBytes += stored;
    return;
  }
  const length = stored - 4;
  const { file, base } = image.source;
  // A check takes more memory than any other entry.
  image.budget.spend('entries', CHECK_COST);
  findings.payloadBytes += length;
  findings.addCheck({
    algorithm: 'fletcher32',
    file,
    offset: base + offset,
    length,
    encoding: 'stored',
    decodedLength: length,
    expected: { at: base + offset + length },
    what,
    code: 'HDF5_CHUNK_CHANGED',
    // The checksum covers references to a heap, but not the data that they refer to.
    payloadBytes: type.mayRefer ? 0 : length,
  });
}
