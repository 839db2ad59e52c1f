import { excerpt } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import type { TorchObject } from './torch-object.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { reportPickle } from '../encodings/pickle/report-walk.ts';
import { asInt, asItems, dictGet, type PickleValue } from '../encodings/pickle/value.ts';
import { type PickleResult, walkPickle } from '../encodings/pickle/walk.ts';
import { type ByteSource, u64le } from '../../bytes/source/byte-source.ts';
import { keyOf, type TorchStorage } from './tensor-storage.ts';
import { collectStorages } from './storages.ts';

/**
 * The magic number 0x1950a86a20f9469cfc6c, as LONG1 for protocol 2 and up, and as protocols 0 and 1
 * write it.
 */
const MAGIC = Buffer.from('8a0a6cfc9c46f9206aa850192e', 'hex');
const MAGIC_TEXT = Buffer.from('L119547037146038801333356L\n.', 'latin1');
const PROTOCOL = 1001;

/** Returns whether the bytes start a `torch.save` file of the format before zip. */
export function isTorchLegacy(head: Buffer): boolean {
  const start = head[0] === 0x80 ? 2 : 0;
  // Protocol 4 and up put a frame around the number.
  const body = head[start] === 0x95 ? start + 9 : start;
  return starts(head, MAGIC, body) || starts(head, MAGIC_TEXT, body);
}

function starts(head: Buffer, magic: Buffer, at: number): boolean {
  return head.subarray(at, at + magic.length).equals(magic);
}

/**
 * Reads a file of the format before PyTorch 1.6: five pickles, then the storages in the order that
 * the last pickle gives.
 */
export function readTorchLegacy(source: ByteSource, findings: Findings): TorchObject | null {
  const reading: Reading = { source, findings, position: 0 };
  if (next(reading) === null) return null;
  const version = next(reading);
  if (version === null || !expect(reading, asInt(version.value) === PROTOCOL, 'the second pickle is not the protocol version 1001'))
    return null;
  const system = next(reading);
  if (system === null) return null;
  const pickle = next(reading);
  if (pickle === null) return null;
  const storages = collectStorages(pickle, source, findings);
  const keys = next(reading);
  const object: TorchObject = {
    container: 'legacy',
    value: pickle.value,
    pickle,
    storages,
    source,
    littleEndian: dictGet(system.value, 'little_endian') !== false,
  };
  const order = keys === null ? null : asItems(keys.value);
  if (keys === null || !expect(reading, order !== null, 'the fifth pickle is not the list of storages')) return object;
  checkKeys(reading, order ?? [], storages);
  placeStorages(reading, order ?? [], storages, object.littleEndian);
  return object;
}

interface Reading {
  readonly source: ByteSource;
  readonly findings: Findings;
  position: number;
}

/** Walks the next pickle; returns null when it has no end. */
function next(reading: Reading): PickleResult | null {
  const { source, findings } = reading;
  const result = walkPickle(source, { start: reading.position });
  reportPickle(result, source, findings);
  if (result.end === null) return null;
  reading.position = result.end;
  return result;
}

function expect({ source, findings, position }: Reading, holds: boolean, message: string): boolean {
  if (!holds) findings.add('TORCH_LEGACY_INVALID', { file: source.file, offset: source.base + position }, message);
  return holds;
}

/** Checks that the list contains every storage the object refers to. */
function checkKeys(reading: Reading, order: readonly PickleValue[], storages: ReadonlyMap<string, TorchStorage>): void {
  const listed = new Set(order.map(keyOf));
  for (const key of storages.keys()) {
    if (!expect(reading, listed.has(key), `storage ${excerpt(key)} is used by the object but is not in the list of storages`)) return;
  }
}

/**
 * Steps from storage to storage by their element counts. The last storage must end at the end of
 * the file.
 */
function placeStorages(
  reading: Reading,
  order: readonly PickleValue[],
  storages: ReadonlyMap<string, TorchStorage>,
  littleEndian: boolean,
): void {
  const { source, findings } = reading;
  if (order.length > LIMITS.entries) {
    findings.add('LIMIT_EXCEEDED', { file: source.file }, `the file lists ${order.length} storages; at most ${LIMITS.entries} are read`);
    return;
  }
  for (const value of order) {
    const storage = storages.get(keyOf(value) ?? '');
    if (storage === undefined) {
      expect(reading, false, `storage ${excerpt(keyOf(value) ?? '?')} is listed but the object does not use it`);
      return;
    }
    if (!placeStorage(reading, storage, littleEndian)) return;
  }
  const extra = source.size - reading.position;
  if (extra === 0) return;
  const where = { file: source.file, offset: source.base + reading.position };
  findings.add('TORCH_LEGACY_TRAILING', where, `${extra} bytes follow the data of the last storage`);
}

function placeStorage(reading: Reading, storage: TorchStorage, littleEndian: boolean): boolean {
  const { source, findings } = reading;
  const count = source.read(reading.position, 8);
  const dataOffset = reading.position + 8;
  if (count.length === 8) {
    const elements = littleEndian ? u64le(count, 0) : Number(count.readBigUInt64BE());
    if (elements !== storage.elements) {
      const where = { file: source.file, offset: source.base + reading.position, expected: `${storage.elements}`, found: `${elements}` };
      const message = `storage ${excerpt(storage.key)} begins with a count of ${elements} elements, the pickle says ${storage.elements}`;
      findings.add('TORCH_STORAGE_SIZE', where, message);
      return false;
    }
  }
  findings.payloadBytes += storage.bytes;
  if (!(dataOffset + storage.bytes <= source.size)) {
    const missing = dataOffset + storage.bytes - source.size;
    const where = { file: source.file, offset: source.base + source.size, expected: `${storage.bytes} bytes` };
    findings.add('TORCH_LEGACY_TRUNCATED', where, `the file ends ${missing} bytes before storage ${excerpt(storage.key)} does`);
    return false;
  }
  storage.offset = dataOffset;
  reading.position = dataOffset + storage.bytes;
  return true;
}
