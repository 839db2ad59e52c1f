import { relieveMemory } from '../core/memory.ts';
import { excerpt, printable } from '../core/printable.ts';
import { Findings } from './reading/findings.ts';
import type { ByteSource } from '../bytes/source/byte-source.ts';
import type { Directory } from '../bytes/source/directory.ts';
import { SourceError } from '../bytes/source/source-error.ts';
import type { DirectoryFormat, FileFormat, MemberFindings, Probe } from './reading/format.ts';
import { DIRECTORY_FORMATS, FILE_FORMATS } from './table.ts';

const HEAD_BYTES = 4096;

/** The readers of the table, for code that inspects a file, a folder or the members of one. */
export const probe: Probe = {
  inspectFile: (directory, name, expect) => inspectBytes(directory.pathOf(name), () => directory.open(name), expect),

  inspectSource: (source, expect) => inspectBytes(source.file, () => source, expect),

  inspectDirectory(directory) {
    const format = claimingFormat(directory);
    if (format === null) return null;
    const findings = new Findings();
    guarded(findings, directory.path, () => format.inspect(directory, findings, probe));
    return member(format, findings);
  },
};

function inspectBytes(file: string, open: () => ByteSource, expect: readonly string[] | undefined): MemberFindings {
  const findings = new Findings();
  let format: FileFormat | null = null;
  guarded(findings, file, () => {
    const source = open();
    const head = source.read(0, HEAD_BYTES);
    format = recogniseFile(head, source);
    if (format === null || (expect !== undefined && !expect.includes(format.id))) reportStranger(findings, source, head);
    else format.inspect(source, findings, probe);
  });
  relieveMemory();
  return member(format, findings);
}

function member(format: { readonly id: string } | null, findings: Findings): MemberFindings {
  return { format: format?.id ?? null, findings };
}

/** Returns the format that the content has, or null. */
export function recogniseFile(head: Buffer, source: ByteSource): FileFormat | null {
  return FILE_FORMATS.find((format) => format.recognise(head, source)) ?? null;
}

/**
 * Returns the directory format that claims a folder, or null. A format whose detection fails to
 * read the folder does not claim it.
 */
export function claimingFormat(directory: Directory): DirectoryFormat | null {
  for (const format of DIRECTORY_FORMATS) {
    try {
      if (format.claims(directory)) return format;
    } catch (thrown) {
      if (!(thrown instanceof SourceError)) throw thrown;
    }
  }
  return null;
}

/** Returns the format that a name promises, or null. */
export function promisedFormat(name: string): FileFormat | null {
  const lower = name.toLowerCase();
  return FILE_FORMATS.find(({ extensions }) => extensions.some((extension) => lower.endsWith(extension))) ?? null;
}

function reportStranger(findings: Findings, source: ByteSource, head: Buffer): void {
  const file = source.file;
  if (source.size === 0) findings.add('FILE_EMPTY', { file }, `${printable(file)} has no bytes`);
  else if (head.every((byte) => byte === 0)) {
    findings.add('FILE_ALL_ZERO', { file, offset: 0 }, `the first ${head.length} bytes of ${printable(file)} are all zero`);
  } else {
    const found = excerpt(head.subarray(0, 16).toString('latin1'));
    findings.add('FILE_UNRECOGNISED', { file, offset: 0, found }, `${printable(file)} does not begin like any format it could be`);
  }
}

/**
 * Runs a reader and turns every failure into evidence. A defect of Holdfast is evidence too, so a
 * broken reader spoils one verdict only.
 */
export function guarded(findings: Findings, file: string, read: () => void): void {
  try {
    read();
  } catch (thrown) {
    if (thrown instanceof SourceError) {
      findings.add(thrown.evidence, { file: thrown.file }, thrown.message);
      return;
    }
    if (process.env['HOLDFAST_DEBUG'] === '1') throw thrown;
    const reason = excerpt(thrown instanceof Error ? thrown.message : String(thrown), 120);
    findings.add('READER_FAILED', { file }, `reading ${printable(file) || 'the folder'} failed in Holdfast itself: ${reason}`);
  }
}
