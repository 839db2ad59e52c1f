import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { PickleWriter } from './pickle-writer.ts';
import { writeZip } from './zip-writer.ts';

/**
 * The shape of a distributed checkpoint. Each tensor is cut along its first dimension into one
 * chunk per rank.
 */
export interface DcpShape {
  readonly ranks: number;
  readonly tensors: number;
  /** Elements (float32) of one chunk. */
  readonly elements?: number;
  /** One file for each chunk instead of one for each rank. */
  readonly isFilePerChunk?: boolean;
}

const METADATA = 'torch.distributed.checkpoint.metadata';

/**
 * Writes shards and metadata as `torch.distributed.checkpoint` lays them out: half of the tensors
 * are weights, half optimizer state.
 */
export function writeDcp(folder: string, shape: DcpShape): void {
  const slice = torchSlice(shape.elements ?? 16);
  mkdirSync(folder, { recursive: true });
  for (let rank = 0; rank < shape.ranks; rank++) {
    if (shape.isFilePerChunk !== true) {
      writeFileSync(join(folder, `__${rank}_0.distcp`), Buffer.concat(Array.from({ length: shape.tensors }, () => slice)));
    } else {
      for (let tensor = 0; tensor < shape.tensors; tensor++) writeFileSync(join(folder, `__${rank}_${tensor}.distcp`), slice);
    }
  }
  writeMetadata(join(folder, '.metadata'), shape, slice.length);
}

function torchSlice(elements: number): Buffer {
  const record = (name: string, data: Buffer) => ({ name: `archive/${name}`, data, padding: 20, descriptor: true });
  return writeZip(
    [
      record('data.pkl', Buffer.alloc(150, 0x4e)),
      record('.format_version', Buffer.from('1')),
      record('.storage_alignment', Buffer.from('64')),
      record('byteorder', Buffer.from('little')),
      record('data/0', Buffer.alloc(elements * 4, 0x3f)),
      record('version', Buffer.from('3\n')),
      record('.data/serialization_id', Buffer.alloc(40, 0x31)),
    ],
    { end64: true },
  );
}

function nameOf(tensor: number): string {
  return tensor % 2 === 0 ? `model.layers.${tensor}.weight` : `optimizer.state.layers.${tensor}.exp_avg`;
}

function writeMetadata(path: string, { ranks, tensors, elements = 16, isFilePerChunk = false }: DcpShape, sliceBytes: number): void {
  const file = openSync(path, 'w');
  const out = new PickleWriter((bytes) => writeSync(file, bytes));
  out.object(METADATA, 'Metadata', () => {
    out.text('state_dict_metadata');
    out.dict(tensors, (tensor) => {
      out.fresh(nameOf(tensor));
      writeTensor(out, ranks, elements);
    });
    out.text('planner_data');
    out.dict(tensors, (tensor) => {
      out.fresh(nameOf(tensor));
      out.fresh(nameOf(tensor));
      out.tuple1();
    });
    out.text('storage_data');
    out.dict(ranks * tensors, (index) => {
      const rank = Math.floor(index / tensors);
      const tensor = index % tensors;
      out.object(METADATA, 'MetadataIndex', () => {
        out.text('fqn');
        out.fresh(nameOf(tensor));
        out.text('index');
        out.integer(rank);
        out.text('offset');
        out.size(rank * elements);
      });
      out.object('torch.distributed.checkpoint.filesystem', '_StorageInfo', () => {
        out.text('relative_path');
        out.text(isFilePerChunk ? `__${rank}_${tensor}.distcp` : `__${rank}_0.distcp`);
        out.text('offset');
        out.integer(isFilePerChunk ? 0 : tensor * sliceBytes);
        out.text('length');
        out.integer(sliceBytes);
      });
    });
  });
  out.finish();
  closeSync(file);
}

function writeTensor(out: PickleWriter, ranks: number, elements: number): void {
  out.object(METADATA, 'TensorStorageMetadata', () => {
    out.text('properties');
    writeProperties(out);
    out.text('size');
    out.size(ranks * elements);
    out.text('chunks');
    out.list(ranks, (rank) =>
      out.object(METADATA, 'ChunkStorageMetadata', () => {
        out.text('offsets');
        out.size(rank * elements);
        out.text('sizes');
        out.size(elements);
      }),
    );
  });
}

/** Plain float32 tensors, which hand a tuple to `__setstate__`. */
function writeProperties(out: PickleWriter): void {
  out.objectOf(METADATA, 'TensorProperties', () =>
    out.tuple(() => {
      out.global('torch', 'float32');
      out.none();
      out.boolean(false);
      out.global(METADATA, '_MEM_FORMAT_ENCODING');
      out.integer(0);
      out.tuple1();
      out.reduce();
      out.boolean(false);
      out.none();
    }),
  );
}
