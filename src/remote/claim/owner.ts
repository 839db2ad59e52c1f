import { isObject, parseJson } from '../../core/json.ts';
import { readBootId } from '../../store/disk/boot-id.ts';
import { isDead, processIdentity } from '../../store/disk/process-identity.ts';

/** A process with an identity that no later process with the same number shares. */
export interface Owner {
  readonly id: string;
  /** The process number, for people only; `process` decides whether the owner lives. */
  readonly pid: number;
  /** The identity that the store also writes into its saves; null where the system has none. */
  readonly process: string | null;
}

/**
 * How often an owner writes a heartbeat. An owner without one for a minute counts as gone.
 */
export const BEAT_MS = 5000;
const SILENT_MS = 60_000;

/** Describes this process as an owner. */
export function thisProcess(id: string): Owner {
  return { id, pid: process.pid, process: processIdentity(readBootId()) };
}

/**
 * Decides whether an owner is gone. A process of this machine and container is looked up, and is
 * gone once it has ended. Any other owner is judged by its heartbeats. `silentMs` is how much older
 * its last heartbeat is than one of ours, by the clock of their file system. A live process without
 * heartbeats is gone, too.
 */
export function isGone(owner: Owner, silentMs: number, here: Owner): boolean {
  return silentMs > SILENT_MS || (owner.process !== null && isDead(owner.process, here.process));
}

/** Writes an owner as the text of its file. */
export function formatOwner(owner: Owner): string {
  return `${JSON.stringify(owner)}\n`;
}

/** Reads an owner from the text of its file; null when the text names none. */
export function parseOwner(text: string): Owner | null {
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) return null;
  const { id, pid, process: identity } = json.value;
  if (typeof id !== 'string' || typeof pid !== 'number') return null;
  return { id, pid, process: typeof identity === 'string' ? identity : null };
}
