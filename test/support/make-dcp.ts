import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { OP } from '../../src/checkpoint/pickle/opcodes.ts';
import { writeZip } from './zip-writer.ts';

/** A distributed checkpoint to be made: every tensor is cut along its first dimension into one chunk for each rank. */
export interface DcpShape {
  readonly ranks: number;
  readonly tensors: number;
  /** Elements (float32) of one chunk. */
  readonly elements?: number;
  /** One file for each chunk instead of one for each rank. */
  readonly isFilePerChunk?: boolean;
}

const METADATA = 'torch.distributed.checkpoint.metadata';

/** Writes shards and metadata as `torch.distributed.checkpoint` lays them out: half of the tensors are weights, half optimizer state. */
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
  const out = new PickleWriter(path);
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
      out.opcode(OP.TUPLE1, OP.MEMOIZE);
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
}

function writeTensor(out: PickleWriter, ranks: number, elements: number): void {
  out.object(METADATA, 'TensorStorageMetadata', () => {
    out.text('properties');
    out.properties();
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

/** Containers are filled a thousand items at a time, as Python does. */
const BATCH = 1000;

/** Writes a pickle of protocol 4 the way Python's pickler does: everything is remembered, little is recalled. */
class PickleWriter {
  readonly #file: number;
  readonly #buffer = Buffer.alloc(1 << 20);
  readonly #recalled = new Map<string, number>();
  #length = 0;
  #remembered = 0;

  constructor(path: string) {
    this.#file = openSync(path, 'w');
    this.opcode(OP.PROTO, 4);
  }

  opcode(code: number, then?: typeof OP.MEMOIZE | 4): void {
    if (this.#length + 512 > this.#buffer.length) this.#flush();
    this.#buffer[this.#length++] = code;
    if (code === OP.MEMOIZE || then === OP.MEMOIZE) this.#remembered++;
    if (then !== undefined) this.#buffer[this.#length++] = then;
  }

  /** Text that was not seen before: what other ranks sent is equal to it, not the same. */
  fresh(value: string): void {
    const encoded = Buffer.from(value);
    this.#raw(OP.SHORT_BINUNICODE, Buffer.concat([Buffer.from([encoded.length]), encoded]));
    this.opcode(OP.MEMOIZE);
  }

  text(value: string): void {
    if (this.#recall(value)) return;
    this.fresh(value);
    this.#recalled.set(value, this.#remembered - 1);
  }

  global(module: string, name: string): void {
    const key = `${module} ${name}`;
    if (this.#recall(key)) return;
    this.text(module);
    this.text(name);
    this.opcode(OP.STACK_GLOBAL);
    this.opcode(OP.MEMOIZE);
    this.#recalled.set(key, this.#remembered - 1);
  }

  integer(value: number): void {
    const wide = Buffer.alloc(8);
    wide.writeBigInt64LE(BigInt(value));
    if (value < 256) this.#raw(OP.BININT1, wide.subarray(0, 1));
    else if (value < 65_536) this.#raw(OP.BININT2, wide.subarray(0, 2));
    else if (value < 0x7fff_ffff) this.#raw(OP.BININT, wide.subarray(0, 4));
    else this.#raw(OP.LONG1, Buffer.concat([Buffer.from([8]), wide]));
  }

  size(length: number): void {
    this.global('torch', 'Size');
    this.integer(length);
    for (const code of [OP.TUPLE1, OP.TUPLE1, OP.REDUCE]) this.opcode(code, OP.MEMOIZE);
  }

  /** `TensorProperties` of plain float32 tensors, which hand a tuple to `__setstate__`. */
  properties(): void {
    this.global(METADATA, 'TensorProperties');
    this.opcode(OP.EMPTY_TUPLE);
    this.opcode(OP.NEWOBJ, OP.MEMOIZE);
    this.opcode(OP.MARK);
    this.global('torch', 'float32');
    this.opcode(OP.NONE);
    this.opcode(OP.NEWFALSE);
    this.global(METADATA, '_MEM_FORMAT_ENCODING');
    this.integer(0);
    this.opcode(OP.TUPLE1, OP.MEMOIZE);
    this.opcode(OP.REDUCE, OP.MEMOIZE);
    this.opcode(OP.NEWFALSE);
    this.opcode(OP.NONE);
    this.opcode(OP.TUPLE, OP.MEMOIZE);
    this.opcode(OP.BUILD);
  }

  object(module: string, name: string, writeState: () => void): void {
    this.global(module, name);
    this.opcode(OP.EMPTY_TUPLE);
    this.opcode(OP.NEWOBJ, OP.MEMOIZE);
    this.opcode(OP.EMPTY_DICT, OP.MEMOIZE);
    this.opcode(OP.MARK);
    writeState();
    this.opcode(OP.SETITEMS);
    this.opcode(OP.BUILD);
  }

  dict(count: number, writeEntry: (index: number) => void): void {
    this.opcode(OP.EMPTY_DICT, OP.MEMOIZE);
    this.#batches(count, writeEntry, { many: OP.SETITEMS, one: OP.SETITEM });
  }

  list(count: number, writeItem: (index: number) => void): void {
    this.opcode(OP.EMPTY_LIST, OP.MEMOIZE);
    this.#batches(count, writeItem, { many: OP.APPENDS, one: OP.APPEND });
  }

  finish(): void {
    this.opcode(OP.STOP);
    this.#flush();
    closeSync(this.#file);
  }

  #batches(count: number, write: (index: number) => void, { many, one }: { readonly many: number; readonly one: number }): void {
    for (let start = 0; start < count; start += BATCH) {
      const end = Math.min(count, start + BATCH);
      if (end - start > 1) this.opcode(OP.MARK);
      for (let index = start; index < end; index++) write(index);
      this.opcode(end - start > 1 ? many : one);
    }
  }

  #recall(key: string): boolean {
    const index = this.#recalled.get(key);
    if (index === undefined) return false;
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(index);
    if (index < 256) this.#raw(OP.BINGET, bytes.subarray(0, 1));
    else this.#raw(OP.LONG_BINGET, bytes);
    return true;
  }

  #raw(code: number, bytes: Buffer): void {
    this.opcode(code);
    this.#length += bytes.copy(this.#buffer, this.#length);
  }

  #flush(): void {
    writeSync(this.#file, this.#buffer, 0, this.#length);
    this.#length = 0;
  }
}
