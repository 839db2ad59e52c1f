import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { systemCode } from '../../core/errors.ts';

/**
 * Returns the mark of this process, by which others on the same kernel can tell whether it is
 * alive. It holds the boot, the viewpoint (where processes and times are counted), the pid and the
 * start time, since pids are reused. Null where `/proc` does not show it.
 */
export function processIdentity(bootId: string | null): string | null {
  const began = beginningOf('self');
  const viewpoint = ownViewpoint();
  return bootId === null || viewpoint === null || began === null ? null : `${bootId}.${viewpoint}.${process.pid}.${began}`;
}

/**
 * Returns the viewpoint from which this process sees others. Each container may count its own pids
 * and its own start of time. The host name separates copies of one virtual machine, which share a
 * boot id. Null where `/proc` belongs to another namespace, because its pids then name
 * other processes.
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

/** Kernels before 5.6 have no time namespaces. */
function timeNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/time');
  } catch {
    return '';
  }
}

/** True when `self` is certain that the process is gone. */
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

/** True when `self` sees the process alive; false also when that is unknown. */
export function isSeenAlive(owner: string, self: string | null): boolean {
  return canBeSeen(owner, self) && !isDead(owner, self);
}

/** A pid is only comparable when both processes share the viewpoint. */
function canBeSeen(owner: string, self: string | null): boolean {
  const [boot, viewpoint, pid] = owner.split('.');
  const [ownBoot, from] = self?.split('.') ?? [];
  return boot !== undefined && boot === ownBoot && viewpoint === from && /^[1-9]\d*$/.test(pid ?? '');
}

/**
 * Returns when a process started, in ticks since boot; null when it is invisible. A zombie counts
 * as gone.
 */
function beginningOf(pid: string): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may contain any character; the fields from the third on follow its
    // end.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? '' : (fields[18] ?? null);
  } catch {
    return null;
  }
}
