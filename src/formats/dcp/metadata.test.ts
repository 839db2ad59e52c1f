import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PickleWriter } from '../../../test/support/pickle-writer.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { walkPickle } from '../encodings/pickle/walk.ts';
import { memorySource } from '../../bytes/source/byte-source.ts';
import { readDcpMetadata } from './metadata.ts';
import { MetadataStream } from './metadata-stream.ts';

const MODULE = 'torch.distributed.checkpoint.metadata';

interface Box {
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
}

interface Entry {
  readonly name: string;
  readonly offsets: readonly number[] | null;
  readonly file: string;
  readonly start: number;
  readonly length: number;
  readonly transforms: number;
}

interface Model {
  readonly tensors: readonly { readonly name: string; readonly boxes: readonly Box[]; readonly shares: boolean }[];
  readonly objects: readonly string[];
  readonly entries: readonly Entry[];
  /** Indexes at which the list of entries gets one that lacks its file. */
  readonly broken: readonly number[];
}

const small = fc.nat(5);
const anyNumber = fc.oneof(small, fc.constantFrom(255, 256, 65_536, 0x7fff_ffff, 0x1_0000_0000, Number.MAX_SAFE_INTEGER));
const numbers = fc.array(anyNumber, { maxLength: 3 });
const box = fc.record({ offsets: numbers, sizes: numbers });
const flatBoxes = fc.array(fc.record({ offsets: fc.tuple(anyNumber, small), sizes: fc.tuple(anyNumber, small) }), { maxLength: 6 });
const name = fc.constantFrom('a.weight', 'b.weight', 'optimizer.step', 'c', 'ü', 'x'.repeat(70));
const model: fc.Arbitrary<Model> = fc.record({
  tensors: fc.array(fc.record({ name, boxes: fc.oneof(fc.array(box, { maxLength: 4 }), flatBoxes), shares: fc.boolean() }), {
    maxLength: 4,
  }),
  objects: fc.array(name, { maxLength: 3 }),
  entries: fc.array(
    fc.record({
      name,
      offsets: fc.option(numbers),
      file: fc.constantFrom('__0_0.distcp', '__1_0.distcp'),
      start: anyNumber,
      length: anyNumber,
      transforms: fc.nat(1),
    }),
    { maxLength: 12 },
  ),
  broken: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(fc.nat(11), { maxLength: 2 }) }),
});

function pickleOf({ tensors, objects, entries, broken }: Model, batch: number): Buffer {
  const parts: Buffer[] = [];
  const out = new PickleWriter((bytes) => parts.push(Buffer.from(bytes)), batch);
  out.object(MODULE, 'Metadata', () => {
    out.text('state_dict_metadata');
    out.dict(tensors.length + objects.length, (index) => {
      const tensor = tensors[index];
      out.fresh(tensor?.name ?? objects[index - tensors.length] ?? '');
      if (tensor === undefined) out.object(MODULE, 'BytesStorageMetadata', () => undefined);
      else writeTensor(out, tensor);
    });
    out.text('storage_data');
    out.dict(entries.length, (index) => writeEntry(out, entries[index] as Entry, broken.includes(index)));
  });
  out.finish();
  return Buffer.concat(parts);
}

function writeTensor(out: PickleWriter, { boxes, shares }: Model['tensors'][number]): void {
  const writeBoxes = () =>
    out.list(boxes.length, (at) =>
      out.object(MODULE, 'ChunkStorageMetadata', () => {
        out.text('offsets');
        out.size(...(boxes[at]?.offsets ?? []));
        out.text('sizes');
        out.size(...(boxes[at]?.sizes ?? []));
      }),
    );
  out.object(MODULE, 'TensorStorageMetadata', () => {
    out.text('size');
    out.size(7, 8);
    out.text('chunks');
    if (shares) out.shared(`chunks ${boxes.length}`, writeBoxes);
    else writeBoxes();
  });
}

function writeEntry(out: PickleWriter, { name: fqn, offsets, file, start, length, transforms }: Entry, isBroken: boolean): void {
  out.object(MODULE, 'MetadataIndex', () => {
    out.text('fqn');
    out.fresh(fqn);
    if (offsets === null) return;
    out.text('offset');
    out.size(...offsets);
  });
  out.object('torch.distributed.checkpoint.filesystem', '_StorageInfo', () => {
    if (!isBroken) {
      out.text('relative_path');
      out.text(file);
    }
    out.text('offset');
    out.integer(start);
    out.text('length');
    out.integer(length);
    out.text('transform_descriptors');
    out.list(transforms, () => out.text('zstd'));
  });
}

/** The result of the reader, as plain data. */
function read(pickle: Buffer, isStreamed: boolean): unknown {
  const stream = new MetadataStream();
  const source = memorySource(pickle, '.metadata');
  const result = walkPickle(source, isStreamed ? { consumer: stream } : {});
  expect(result.failure).toBeNull();
  const metadata = readDcpMetadata(result.value ?? null, stream);
  if ('misshapen' in metadata) return metadata.limit ? 'limit' : 'misshapen';
  const { tensors, objects, stored } = metadata;
  return {
    tensors: [...tensors].map(([key, { size, chunks, dtype }]) => [
      key,
      size,
      dtype,
      Array.from({ length: chunks.length }, (_, at) => [chunks.at(at), chunks.volume(at)]),
    ]),
    objects: [...objects],
    stored: Array.from({ length: stored.length }, (_, at) => stored.at(at)),
    byFile: [...stored.byFile()],
  };
}

describe('the metadata of a distributed checkpoint', () => {
  it('gives the same result read as a stream and read from the tree', () => {
    fc.assert(
      fc.property(model, fc.constantFrom(1, 2, 3, 1000), (generated, batch) => {
        const pickle = pickleOf(generated, batch);
        expect(read(pickle, true)).toEqual(read(pickle, false));
      }),
      { numRuns: 300 },
    );
  });

  it('counts a list of chunks for every tensor that uses it, up to the limit', () => {
    const boxes = Array.from({ length: 600 }, (_, at) => ({ offsets: [at], sizes: [1] }));
    const uses = Math.ceil(LIMITS.entries / boxes.length) + 1;
    const tensors = Array.from({ length: uses }, (_, at) => ({ name: `t${at}`, boxes, shares: true }));
    expect(read(pickleOf({ tensors, objects: [], entries: [], broken: [] }, 1000), true)).toBe('limit');
  });
});
