import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import type { Clock } from '../../core/clock.ts';
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
 * Who has which file open for writing, by file identity, as far as this user may see (Linux;
 * elsewhere nobody is seen). Writers on other nodes, and files that are only mapped into memory,
 * are not seen. Looks at every process, or at these.
 */
export function findWriters(pids: Iterable<number> = everyProcess()): ReadonlyMap<string, Writer> {
  const writers = new Map<string, Writer>();
  for (const pid of pids) {
    if (pid === process.pid) continue;
    for (const identity of filesWrittenBy(pid)) if (!writers.has(identity)) writers.set(identity, { pid, command: commandOf(pid) });
  }
  return writers;
}

function everyProcess(): readonly number[] {
  return listOrNothing('/proc').map(Number).filter(Number.isInteger);
}

/** How long what was seen of all processes may be taken for what is. */
const RECENT_MS = 1000;
const lastSeen = new WeakMap<Clock, { readonly atMs: number; readonly writers: ReadonlyMap<string, Writer> }>();

/**
 * The same, as it was at most a second ago: for those who look at many checkpoints, one after the
 * other, and would look at every process of the machine for each. Whoever begins to write in that
 * second is missed as if they began after the look; who is named may have ended since.
 */
export function recentWriters(clock: Clock): ReadonlyMap<string, Writer> {
  const atMs = clock.monotonic();
  const known = lastSeen.get(clock);
  if (known !== undefined && atMs - known.atMs < RECENT_MS) return known.writers;
  const writers = findWriters();
  lastSeen.set(clock, { atMs, writers });
  return writers;
}

/**
 * The owner's write bit of a descriptor's link tells how it was opened; descriptors vanish while we
 * look, which is no matter.
 */
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
