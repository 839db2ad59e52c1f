import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { systemCode } from '../../core/errors.ts';

/**
 * This process, so that others on the same kernel can tell whether it still lives: the life of the kernel, where in it the process counts
 * numbers and times, its number, and when it began, since numbers are given again. Null where `/proc` does not say.
 */
export function processIdentity(bootId: string | null): string | null {
  const began = beginningOf('self');
  const viewpoint = ownViewpoint();
  return bootId === null || viewpoint === null || began === null ? null : `${bootId}.${viewpoint}.${process.pid}.${began}`;
}

/**
 * Where this process stands when it looks at others. Containers count their processes each for itself, and may count time from another
 * beginning; the name of the machine tells copies of one virtual machine apart, which share the life of their kernel. Null where `/proc` is
 * that of another namespace: the numbers in it are those of others.
 */
function ownViewpoint(): string | null {
  try {
    if (readlinkSync('/proc/self') !== String(process.pid)) return null;
    const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
    return `${readlinkSync('/proc/self/ns/pid')}${timeNamespace()}${host}`.replaceAll(/[^\w]+/g, '-');
  } catch {
    return null;
  }
}

/** Kernels before 5.6 have none. */
function timeNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/time');
  } catch {
    return '';
  }
}

/** Whether that process is gone, as seen by `self`; true only when it is certain. */
export function isDead(owner: string, self: string | null): boolean {
  if (!canBeSeen(owner, self)) return false;
  const [, , pid = '', began] = owner.split('.');
  try {
    process.kill(Number(pid), 0);
  } catch (thrown) {
    if (systemCode(thrown) === 'ESRCH') return true;
  }
  const now = beginningOf(pid);
  return now !== null && now !== began;
}

/** Whether `self` sees that process live; false also where nobody can tell. */
export function isSeenAlive(owner: string, self: string | null): boolean {
  return canBeSeen(owner, self) && !isDead(owner, self);
}

/** Only where both count processes from the same viewpoint does a number say anything. */
function canBeSeen(owner: string, self: string | null): boolean {
  const [boot, viewpoint, pid] = owner.split('.');
  const [ownBoot, from] = self?.split('.') ?? [];
  return boot !== undefined && boot === ownBoot && viewpoint === from && /^[1-9]\d*$/.test(pid ?? '');
}

/** When a process began, in ticks since the machine did; null when it is not to be seen. One that only waits to be collected counts as gone. */
function beginningOf(pid: string): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold anything; what follows its end are the fields from the third on.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? '' : (fields[18] ?? null);
  } catch {
    return null;
  }
}
