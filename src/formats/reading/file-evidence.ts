import { statfsSync } from 'node:fs';
import { printable } from '../../core/printable.ts';
import type { Findings } from './findings.ts';
import { isLeftoverPath } from './save-leftovers.ts';
import type { Entry } from '../../bytes/source/directory.ts';
import type { Writer } from '../../bytes/source/writers.ts';

/** Files smaller than this may live inside their inode, with no blocks at all. */
const INLINE_BYTES = 64 * 1024;
const BLOCK_SLACK = 4096;

/**
 * File systems that report exactly the blocks they hold: ext2–4, xfs, tmpfs, overlay. Elsewhere
 * compression or the network blurs it.
 */
const EXACT_FILE_SYSTEMS = new Set([0xef53, 0x58465342, 0x01021994, 0x794c7630]);

/** True when fewer blocks than bytes means holes, on the file system under `path`. */
export function countsBlocksExactly(path: string): boolean {
  try {
    return EXACT_FILE_SYSTEMS.has(statfsSync(path).type);
  } catch {
    return false;
  }
}

/** The files of a checkpoint and the processes that write them. */
export interface FileFacts {
  readonly files: ReadonlyMap<string, Entry>;
  readonly writers: ReadonlyMap<string, Writer>;
  /** See {@link countsBlocksExactly}. */
  readonly isExact: boolean;
}

/**
 * What can be seen of the files of a checkpoint from outside: holes, writers at work, what
 * unfinished saves left behind.
 */
export function addFileEvidence({ files, writers, isExact }: FileFacts, findings: Findings): void {
  for (const [file, entry] of files) {
    if (isLeftoverPath(file)) {
      findings.add('TEMP_LEFTOVER', { file }, `${printable(file)} is left over from an interrupted save; it is not part of the checkpoint`);
    }
    if (entry.kind !== 'file') continue;
    const writer = writers.get(entry.identity);
    if (writer !== undefined) {
      const message = `${printable(file)} is open for writing in process ${writer.pid} (${writer.command})`;
      findings.add('FILE_OPEN_FOR_WRITING', { file }, message);
    }
    if (!isLeftoverPath(file) && isSparse(entry)) addSparse(file, entry, isExact, findings);
  }
}

/** After everything was read: files whose size or time moved meanwhile. */
export function addChangeEvidence(files: ReadonlyMap<string, Entry>, findings: Findings): void {
  for (const [file, entry] of files) {
    if (entry.kind === 'file' && entry.hasChanged()) {
      findings.add('FILE_CHANGED', { file }, `${printable(file)} changed while it was read: a process is writing it`);
    }
  }
}

function isSparse(entry: Entry): boolean {
  return entry.size > INLINE_BYTES && entry.allocated + BLOCK_SLACK < entry.size;
}

function addSparse(file: string, entry: Entry, isExact: boolean, findings: Findings): void {
  const where = { file, expected: `${entry.size} bytes`, found: `${entry.allocated} bytes on disk` };
  const message = `${printable(file)} has ${entry.size} bytes, of which the disk holds only ${entry.allocated}`;
  findings.add(isExact ? 'FILE_SPARSE' : 'FILE_COMPRESSED', where, message);
}
