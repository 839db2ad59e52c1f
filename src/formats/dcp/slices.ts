import { hex32, shortCrc32 } from '../../core/checksums.ts';
import { excerpt } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import { ByteWindow } from '../../bytes/source/byte-window.ts';
import { TORCH_DTYPE_BYTES } from '../reading/torch-dtypes.ts';
import { usesChecksums } from '../torch/record-checksums.ts';
import { STORED, type ZipArchive, type ZipEntry } from '../encodings/zip/archive.ts';
import { checkOfEntry, readZip } from '../encodings/zip/read-archive.ts';
import type { StoredItem } from './stored-table.ts';

const ZIP_START = 0x04034b50;
const ZIP_END = 0x06054b50;
const ZIP_END_BYTES = 22;
/** Records beside the tensor's bytes that are compared without `--deep`. */
const SMALL_RECORD = 1024;

/** Records that hold a tensor's bytes. */
const DATA = /(^|\/)data\/\d+$/;

/** The torch file at an item's place. */
export interface Slice {
  readonly item: StoredItem;
  readonly source: ByteSource;
  readonly archive: ZipArchive;
}

/** The description of an item's place in the metadata. */
export interface Expected {
  readonly dtype: string | null;
  /** Elements of the chunk, when the chunk is known. */
  readonly elements: number | null;
}

/** True when a torch file begins where the slice begins and ends where it ends. */
export function isTorchSlice(source: ByteSource): boolean {
  return isMark(source, 0, ZIP_START) && source.size > ZIP_END_BYTES && isMark(source, source.size - ZIP_END_BYTES, ZIP_END);
}

function isMark(source: ByteSource, offset: number, mark: number): boolean {
  const bytes = source.read(offset, 4);
  return bytes.length === 4 && bytes.readUInt32LE(0) === mark;
}

/**
 * Reads the torch file of a tensor's chunk from its directory alone; `--deep` reads the bytes.
 * Returns null, with evidence, when the slice is not a torch file.
 */
export function inspectTensorSlice(source: ByteSource, item: StoredItem, expected: Expected, findings: Findings): Slice | null {
  if (!isTorchSlice(source)) {
    reportForeign(source, item, findings);
    return null;
  }
  const archive = readZip(source, findings);
  if (archive === null) return null;
  const slice = { item, source, archive };
  const data = archive.entries.filter(({ name }) => DATA.test(name));
  checkDataSize(slice, data, expected, findings);
  compareChecksums(slice, data, findings);
  return slice;
}

/** Reports an item whose place in the shard file holds no torch file. */
export function reportForeign(source: ByteSource, item: StoredItem, findings: Findings): void {
  const found = source.read(0, 8).toString('hex');
  const where = { file: source.file, offset: source.base, expected: 'a torch file', found };
  const message = `${excerpt(item.name)} should be a torch file of ${item.length} bytes at offset ${item.start}, but there is none`;
  findings.add('DCP_SLICE_FOREIGN', where, message);
}

/**
 * Checks that the single storage is large enough for the chunk. Tensors of other classes may have
 * several storages, or none; they are not checked.
 */
function checkDataSize(slice: Slice, data: readonly ZipEntry[], { dtype, elements }: Expected, findings: Findings): void {
  const [entry] = data;
  const { item, source } = slice;
  const width = TORCH_DTYPE_BYTES.get(dtype ?? '');
  if (entry === undefined || data.length > 1 || width === undefined || elements === null) return;
  const needed = elements * width;
  if (entry.size >= needed) return;
  const where = { file: source.file, offset: source.base, expected: `${needed} bytes`, found: `${entry.size} bytes` };
  const message = `a chunk of ${excerpt(item.name)} needs ${needed} bytes of data, the torch file at its place has ${entry.size}`;
  findings.add('DCP_SLICE_SIZE', where, message);
}

/**
 * Lists the checksum of the tensor's bytes for `--deep`. It compares the other records at once:
 * they are a few hundred bytes beside headers that were already read. A checkpoint of very many
 * chunks thus needs one check per chunk instead of seven. A writer may omit its checksums; they are
 * then all zero and say nothing.
 */
function compareChecksums({ source, archive }: Slice, data: readonly ZipEntry[], findings: Findings): void {
  const records = new ByteWindow(source);
  const hasChecksums = usesChecksums(archive.entries);
  for (const entry of archive.entries) {
    const payload = data.includes(entry) ? entry.size : 0;
    findings.payloadBytes += payload;
    if (!hasChecksums) continue;
    if (payload === 0 && entry.size <= SMALL_RECORD && entry.method === STORED) compareNow(source, records, entry, findings);
    else listCheck(source, entry, payload, findings);
  }
}

function listCheck(source: ByteSource, entry: ZipEntry, payload: number, findings: Findings): void {
  const { dataOffset, size: length, crc } = entry;
  if (dataOffset !== null && entry.method === STORED && payload === entry.compressedSize) {
    findings.addCrc({ file: source.file, offset: source.base + dataOffset, length, crc, entry: entry.name });
    return;
  }
  const check = checkOfEntry(source, entry, payload);
  if (check !== null) findings.addCheck(check);
}

function compareNow({ file, base }: ByteSource, records: ByteWindow, entry: ZipEntry, findings: Findings): void {
  if (entry.dataOffset === null) return;
  const at = records.find(entry.dataOffset, entry.size);
  const found = at === -1 ? null : shortCrc32(records.bytes, at, at + entry.size);
  if (found === null || found === entry.crc) return;
  const where = { file, offset: base + entry.dataOffset, expected: hex32(entry.crc), found: hex32(found) };
  findings.add('ZIP_CRC_MISMATCH', where, `entry ${excerpt(entry.name)} does not match its crc32 checksum`);
}
