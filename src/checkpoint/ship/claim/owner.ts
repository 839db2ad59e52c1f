import { isObject, parseJson } from '../../json.ts';
import { readBootId } from '../../store/boot-id.ts';
import { isDead, processIdentity } from '../../store/process-identity.ts';

/** A process, named so that it is never taken for a later one with the same number. */
export interface Owner {
  readonly id: string;
  /** For people; what tells whether it lives is `process`. */
  readonly pid: number;
  /** As the store marks its saves; null where the system does not tell. */
  readonly process: string | null;
}

/** An owner whom nobody can ask gives a sign this often, and counts as gone when it gave none for so long. */
export const BEAT_MS = 5000;
const SILENT_MS = 60_000;

export function thisProcess(id: string): Owner {
  return { id, pid: process.pid, process: processIdentity(readBootId()) };
}

/**
 * Whether an owner is gone. One of this machine and container is looked up, and is gone as soon as it has ended. Of any other only its signs tell:
 * `silentMs` is how much older its last one is than one of ours, on the clock of the file system that keeps both. The same goes for one that
 * lives and does nothing any more.
 */
export function isGone(owner: Owner, silentMs: number, here: Owner): boolean {
  return silentMs > SILENT_MS || (owner.process !== null && isDead(owner.process, here.process));
}

export function formatOwner(owner: Owner): string {
  return `${JSON.stringify(owner)}\n`;
}

export function parseOwner(text: string): Owner | null {
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) return null;
  const { id, pid, process: identity } = json.value;
  if (typeof id !== 'string' || typeof pid !== 'number') return null;
  return { id, pid, process: typeof identity === 'string' ? identity : null };
}
