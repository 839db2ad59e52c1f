import { readFileSync, readlinkSync } from 'node:fs';
import { isObject, parseJson } from '../../json.ts';
import { readBootId } from '../../store/boot-id.ts';

/** A process, named so that it is never taken for a later one with the same number. */
export interface Owner {
  readonly id: string;
  readonly pid: number;
  /** When it started, as the kernel counts; null where the system does not tell. */
  readonly startedAt: string | null;
  /** This life of the kernel. */
  readonly bootId: string | null;
  /** Numbers of processes mean something only within one of these: a container has its own. */
  readonly pidNamespace: string | null;
}

/** An owner whom nobody can ask gives a sign this often, and counts as gone when it gave none for so long. */
export const BEAT_MS = 5000;
const SILENT_MS = 60_000;

export function thisProcess(id: string): Owner {
  return { id, pid: process.pid, startedAt: startOf(process.pid), bootId: readBootId(), pidNamespace: readPidNamespace() };
}

/** What the system tells about a process: the moment of its start, null when there is no such process. */
export type StartOf = (pid: number) => string | null;

/**
 * Whether an owner is gone. One of this machine and container is looked up, and is gone as soon as it has ended. Of any other only its signs tell:
 * `silentMs` is how much older its last one is than one of ours, on the clock of the file system that keeps both. The same goes for one that
 * lives and does nothing any more.
 */
export function isGone(owner: Owner, silentMs: number, here: Owner, start: StartOf = startOf): boolean {
  if (silentMs > SILENT_MS) return true;
  const isAskable = owner.bootId !== null && owner.bootId === here.bootId && owner.pidNamespace === here.pidNamespace;
  return isAskable && owner.startedAt !== null && start(owner.pid) !== owner.startedAt;
}

export function formatOwner(owner: Owner): string {
  return `${JSON.stringify(owner)}\n`;
}

export function parseOwner(text: string): Owner | null {
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) return null;
  const { id, pid, startedAt, bootId, pidNamespace } = json.value;
  if (typeof id !== 'string' || typeof pid !== 'number') return null;
  const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return { id, pid, startedAt: textOrNull(startedAt), bootId: textOrNull(bootId), pidNamespace: textOrNull(pidNamespace) };
}

/** The 22nd field of `/proc/PID/stat`; the second, the name of the program, may hold anything, also blanks and brackets. */
function startOf(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

function readPidNamespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return null;
  }
}
