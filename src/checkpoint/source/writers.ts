import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { excerpt } from '../../core/printable.ts';

/** A process that has a file open for writing. */
export interface Writer {
  readonly pid: number;
  readonly command: string;
}

/** Identifies a file whatever its name: device and inode. */
export function fileIdentity(stats: { readonly dev: number; readonly ino: number }): string {
  return `${stats.dev}:${stats.ino}`;
}

/**
 * Who has which file open for writing, by file identity, as far as this user may see (Linux; elsewhere nobody is seen). Writers on
 * other nodes, and files that are only mapped into memory, are not seen.
 */
export function findWriters(): ReadonlyMap<string, Writer> {
  const writers = new Map<string, Writer>();
  for (const name of listOrNothing('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    for (const identity of filesWrittenBy(pid)) if (!writers.has(identity)) writers.set(identity, { pid, command: commandOf(pid) });
  }
  return writers;
}

/** The owner's write bit of a descriptor's link tells how it was opened; descriptors vanish while we look, which is no matter. */
function filesWrittenBy(pid: number): readonly string[] {
  const identities: string[] = [];
  for (const descriptor of listOrNothing(`/proc/${pid}/fd`)) {
    const path = `/proc/${pid}/fd/${descriptor}`;
    try {
      if ((lstatSync(path).mode & 0o200) === 0) continue;
      const target = statSync(path);
      if (target.isFile()) identities.push(fileIdentity(target));
    } catch {}
  }
  return identities;
}

function listOrNothing(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function commandOf(pid: number): string {
  try {
    return excerpt(readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), 32);
  } catch {
    return 'a process';
  }
}
