import { excerpt, printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { type ByteSource, memorySource } from '../../bytes/source/byte-source.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { naturalOrder } from '../../bytes/source/natural-order.ts';
import { openMember } from '../reading/open-member.ts';
import { windowedSource } from '../../bytes/source/windowed-source.ts';
import type { StoredTable } from './stored-table.ts';

/** Shards up to this size are read at once, because one read per item would cost more. */
const SMALL_SHARD = 64 * 1024;

/** A shard file and its items, as indexes into the table in the order of their place. */
export interface Shard {
  readonly name: string;
  readonly stored: StoredTable;
  readonly items: Int32Array;
}

/**
 * Opens a shard and checks that its items fill it from the first byte to the last. Returns null
 * when it cannot be opened.
 */
export function openShard(directory: Directory, shard: Shard, findings: Findings): ByteSource | null {
  const { name } = shard;
  if (/[/\\]|^\.{0,2}$/.test(name)) {
    findings.add(
      'DCP_PATH_OUTSIDE',
      { file: null, found: excerpt(name) },
      `the metadata names ${excerpt(name)}, which is no file of the folder`,
    );
    return null;
  }
  const opened = openMember(directory, name, findings);
  if (opened === null) return null;
  checkTiling(opened, shard, findings);
  const isSmall = opened.size <= SMALL_SHARD;
  return isSmall ? memorySource(opened.read(0, opened.size), opened.file, opened.base) : windowedSource(opened);
}

function checkTiling(source: ByteSource, { stored, items }: Shard, findings: Findings): void {
  const { file, size } = source;
  let end = 0;
  for (const item of items) {
    if (stored.startOf(item) !== end) reportBreak(stored.at(item), end, file, findings);
    end = Math.max(end, stored.endOf(item));
  }
  if (end === size) return;
  const where = { file, offset: Math.min(end, size), expected: `${end} bytes`, found: `${size} bytes` };
  if (end > size) {
    findings.add('DCP_SHARD_TRUNCATED', where, `${printable(file)} has ${size} bytes, the metadata needs ${end} of it`);
  } else {
    findings.add('DCP_SHARD_TRAILING', where, `${printable(file)} has ${size - end} bytes more than the metadata accounts for`);
  }
}

function reportBreak(item: { readonly name: string; readonly start: number }, end: number, file: string, findings: Findings): void {
  const isGap = item.start > end;
  const where = { file, offset: item.start, expected: String(end), found: String(item.start) };
  const message = `${printable(file)}: ${excerpt(item.name)} begins at ${item.start}, ${isGap ? 'though' : 'before'} the item in front of it ends at ${end}`;
  findings.add(isGap ? 'DCP_SHARD_GAP' : 'DCP_SHARD_OVERLAP', where, message);
}

/** Reports shards of the folder that the metadata does not mention. */
export function reportUnreferenced(directory: Directory, used: ReadonlySet<string>, findings: Findings): void {
  const unused: string[] = [];
  for (const { name, kind } of directory.entries.values()) {
    if (!used.has(name) && kind === 'file' && /^__\d+_\d+\.distcp$/.test(name)) unused.push(name);
  }
  for (const name of unused.sort(naturalOrder)) {
    const file = directory.pathOf(name);
    findings.add('DCP_SHARD_UNREFERENCED', { file }, `${printable(file)} is not used by the metadata: an earlier, larger save left it`);
  }
}

/**
 * Reports shards written after the marker that vouches for them. The slack is there because some
 * file systems round times.
 */
export function reportNewerThanMarker(directory: Directory, marker: string, names: Iterable<string>, findings: Findings): void {
  const written = directory.entries.get(marker)?.mtimeMs;
  if (written === undefined) return;
  for (const name of names) {
    const entry = directory.entries.get(name);
    if (entry === undefined || entry.mtimeMs <= written + 1000) continue;
    const file = directory.pathOf(name);
    const seconds = Math.round((entry.mtimeMs - written) / 1000);
    findings.add('NEWER_THAN_MARKER', { file }, `${printable(file)} was written ${seconds} s after the marker ${printable(marker)}`);
  }
}
