import { excerpt } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import type { TorchObject } from './torch-object.ts';
import { reportPickle } from '../encodings/pickle/report-walk.ts';
import { walkPickle } from '../encodings/pickle/walk.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { ZipArchive } from '../encodings/zip/archive.ts';
import { checkOfEntry, firstEntryName, openEntry, readZip } from '../encodings/zip/read-archive.ts';
import { directoryNames } from '../encodings/zip/entry-names.ts';
import { reportMissingChecksums, usesChecksums } from './record-checksums.ts';
import type { TorchStorage } from './tensor-storage.ts';
import { collectStorages } from './storages.ts';

/**
 * Names, below the top folder, of the first record in archives of `torch.save` and
 * `torch.jit.save`.
 */
const FIRST_RECORD =
  /^[^/]+\/(data\.pkl|version|\.format_version|\.storage_alignment|byteorder|constants\.pkl|data\/\d+|constants\/\d+|code\/|extra\/)/;
const PICKLE = /^([^/]+\/)data\.pkl$/;

/**
 * Returns true for a zip archive with PyTorch's records, also when it was cut before its directory.
 */
export function isTorchZip(head: Buffer, source: ByteSource): boolean {
  const first = firstEntryName(head);
  if (first === null) return false;
  return FIRST_RECORD.test(first) || directoryNames(source).some((name) => PICKLE.test(name));
}

/** Reads an archive of `torch.save` or `torch.jit.save`. */
export function readTorchZip(source: ByteSource, findings: Findings): TorchObject | null {
  const archive = readZip(source, findings);
  if (archive === null) return null;
  const folder = topFolder(archive);
  const reading: TorchZip = { source, findings, archive, folder: folder ?? '' };
  if (folder === null) {
    findings.add('TORCH_RECORD_MISSING', { file: source.file, expected: 'data.pkl' }, 'the archive has no record data.pkl');
    return null;
  }
  requireRecord(reading, ['version', '.data/version']);
  const littleEndian = checkByteOrder(reading);
  const entry = archive.byName.get(`${folder}data.pkl`);
  const content = entry === undefined ? null : openEntry(source, entry, findings);
  if (content === null) return null;
  const pickle = walkPickle(content);
  const container = archive.byName.has(`${folder}constants.pkl`) ? 'script' : 'zip';
  reportPickle(pickle, content, findings, container === 'script');
  const storages = collectStorages(pickle, content, findings);
  for (const storage of storages.values()) placeStorage(reading, storage);
  addChecks(reading);
  reportUnreferenced(reading, storages);
  return { container, value: pickle.value, pickle, storages, source, littleEndian };
}

interface TorchZip {
  readonly source: ByteSource;
  readonly findings: Findings;
  readonly archive: ZipArchive;
  /** Top folder of the records, with its slash. */
  readonly folder: string;
}

function topFolder(archive: ZipArchive): string | null {
  for (const { name } of archive.entries) {
    const match = PICKLE.exec(name);
    if (match !== null) return match[1] as string;
  }
  return null;
}

function requireRecord({ archive, folder, findings, source }: TorchZip, names: readonly string[]): void {
  if (names.some((name) => archive.byName.has(folder + name))) return;
  findings.add('TORCH_RECORD_MISSING', { file: source.file, expected: names[0] ?? '' }, `the archive has no record ${names[0]}`);
}

/**
 * Returns true unless the numbers are big-endian. A record with any other value becomes evidence.
 */
function checkByteOrder({ source, findings, archive, folder }: TorchZip): boolean {
  const entry = archive.byName.get(`${folder}byteorder`);
  if (entry === undefined || entry.dataOffset === null) return true;
  const text = source.read(entry.dataOffset, Math.min(entry.compressedSize, 16)).toString('latin1');
  if (text !== 'little' && text !== 'big') {
    const where = { file: source.file, offset: source.base + entry.dataOffset, expected: 'little or big', found: excerpt(text) };
    findings.add('TORCH_DOCUMENT', where, `the record byteorder says ${excerpt(text)}`);
  }
  return text !== 'big';
}

function placeStorage({ source, findings, archive, folder }: TorchZip, storage: TorchStorage): void {
  const name = `${folder}data/${storage.key}`;
  const entry = archive.byName.get(name);
  if (entry === undefined) {
    const message = `the pickle refers to storage ${excerpt(storage.key)}, but the archive has no record data/${excerpt(storage.key)}`;
    findings.add('TORCH_RECORD_MISSING', { file: source.file, expected: excerpt(name) }, message);
    return;
  }
  storage.offset = entry.dataOffset;
  if (entry.size === storage.bytes) return;
  const where = {
    file: source.file,
    offset: source.base + (entry.dataOffset ?? entry.headerOffset),
    expected: `${storage.bytes} bytes`,
    found: `${entry.size} bytes`,
  };
  const count = `${storage.elements} elements of ${storage.elementBytes} bytes`;
  findings.add('TORCH_STORAGE_SIZE', where, `record data/${excerpt(storage.key)} has ${entry.size} bytes, the pickle says ${count}`);
}

/** Counts the payload and lists the checksums, unless the writer stored none. */
function addChecks({ source, findings, archive, folder }: TorchZip): void {
  const data = new Set(archive.entries.filter(({ name }) => name.startsWith(`${folder}data/`) || name.startsWith(`${folder}constants/`)));
  const coverage = { all: usesChecksums(archive.entries), data: usesChecksums([...data]) };
  for (const entry of archive.entries) {
    const payload = data.has(entry) ? entry.size : 0;
    findings.payloadBytes += payload;
    const isCovered = coverage.all && (payload === 0 || coverage.data);
    const check = isCovered ? checkOfEntry(source, entry, payload) : null;
    if (check !== null) findings.addCheck(check);
  }
  if (!coverage.all || !coverage.data) reportMissingChecksums(source, findings, { records: [...data], isPickleChecked: coverage.all });
}

/**
 * Finds records of tensor data that the pickle does not mention. An unreadable pickle says nothing
 * about them.
 */
function reportUnreferenced({ source, findings, archive, folder }: TorchZip, storages: ReadonlyMap<string, TorchStorage>): void {
  if (findings.isBroken) return;
  const prefix = `${folder}data/`;
  const unreferenced = archive.entries.filter(({ name }) => name.startsWith(prefix) && !storages.has(name.slice(prefix.length))).length;
  if (unreferenced === 0) return;
  findings.add('TORCH_UNREFERENCED', { file: source.file }, `${unreferenced} records of tensor data are mentioned nowhere in the pickle`);
}
