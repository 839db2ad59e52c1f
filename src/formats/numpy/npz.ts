import { excerpt } from '../../core/printable.ts';
import { needOfKey } from '../reading/content-names.ts';
import type { Findings } from '../reading/findings.ts';
import { type ArrayHeader, readHeader, scalarOf } from '../encodings/numpy/header.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { ZipEntry } from '../encodings/zip/archive.ts';
import { directoryNames } from '../encodings/zip/entry-names.ts';
import { checkOfEntry, entryHead, firstEntryName, openEntry, readZip } from '../encodings/zip/read-archive.ts';
import type { FileFormat } from '../reading/format.ts';
import { inspectObjects } from './npy.ts';

/** Members whose own header is read; the checksums of all of them are compared in any case. */
const HEADERS_READ = 20_000;
const EMPTY_ARCHIVE = Buffer.from('PK\x05\x06', 'latin1');
/** Longest member that is unpacked for its single number. */
const SCALAR_MEMBER = 4096;

/** The reader of `.npz` archives. */
export const npz: FileFormat = {
  id: 'npz',
  title: 'NumPy archive',
  extensions: ['.npz'],
  recognise(head, source) {
    if (head.subarray(0, 4).equals(EMPTY_ARCHIVE)) return source.size === 22;
    const first = firstEntryName(head);
    if (first === null) return false;
    if (first.endsWith('.npy')) return true;
    const names = directoryNames(source);
    return names.length > 0 && names.every((name) => name.endsWith('.npy'));
  },
  inspect(source, findings) {
    const archive = readZip(source, findings);
    if (archive === null) return;
    if (archive.entries.length === 0) findings.add('FILE_EMPTY', { file: source.file }, 'the archive has no arrays');
    for (const [index, entry] of archive.entries.entries()) {
      findings.payloadBytes += entry.size;
      const check = checkOfEntry(source, entry, entry.size);
      if (check !== null) findings.addCheck(check);
      if (index < HEADERS_READ) inspectMember(source, entry, findings);
    }
  },
};

function inspectMember(source: ByteSource, entry: ZipEntry, findings: Findings): void {
  if (entry.dataOffset === null) return;
  const where = { file: source.file, offset: source.base + entry.dataOffset };
  if (!entry.name.endsWith('.npy')) {
    findings.add('NPZ_FOREIGN_MEMBER', where, `the member ${excerpt(entry.name)} is no array`);
    return;
  }
  const header = readHeader((length) => entryHead(source, entry, length));
  if ('problem' in header) {
    findings.add('NUMPY_HEADER_INVALID', where, `the member ${excerpt(entry.name)} ${header.problem}`);
    return;
  }
  describeMember(source, entry, header, findings);
  if (header.dataBytes === null) return inspectPickled(source, entry, header, findings);
  const end = header.dataOffset + header.dataBytes;
  const sizes = { ...where, expected: `${end} bytes`, found: `${entry.size} bytes` };
  if (entry.size < end)
    findings.add('NUMPY_MEMBER_SIZE', sizes, `the member ${excerpt(entry.name)} has ${entry.size} bytes, its array needs ${end}`);
  else if (entry.size > end)
    findings.add('NUMPY_TRAILING', sizes, `in the member ${excerpt(entry.name)} ${entry.size - end} bytes follow the array`);
}

function inspectPickled(source: ByteSource, entry: ZipEntry, header: ArrayHeader, findings: Findings): void {
  const content = openEntry(source, entry, findings);
  if (content !== null) inspectObjects(content, header, findings);
}

/** What the array is for, by the first part of its name; a step is read. */
function describeMember(source: ByteSource, entry: ZipEntry, header: ArrayHeader, findings: Findings): void {
  const name = entry.name.replace(/\.npy$/, '');
  const root = name.split(/[/.]/, 1)[0] ?? name;
  const need = needOfKey(root) ?? 'weights';
  const where = `${source.file}: ${excerpt(root)}`;
  if (need !== 'step') return findings.content.add(need, where);
  if (entry.size > SCALAR_MEMBER) return;
  const data = openEntry(source, entry, findings)?.read(header.dataOffset, header.dataBytes ?? 0);
  const step = data === undefined ? null : scalarOf(header, data);
  if (step !== null) findings.content.addStep(step, source.file, where);
}
