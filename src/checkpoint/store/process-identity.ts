import { readFileSync, readlinkSync } from 'node:fs';
import { systemCode } from '../../core/errors.ts';

/**
 * This process, so that others on the same kernel can tell whether it still lives: the life of the kernel, the PID namespace (containers
 * count their processes each for itself), the number, and when it began, since numbers are given again. Null where `/proc` does not say.
 */
export function processIdentity(bootId: string | null): string | null {
  const began = beginningOf('self');
  try {
    const namespace = /\[(\d+)\]/.exec(readlinkSync('/proc/self/ns/pid'))?.[1];
    return bootId === null || namespace === undefined || began === null ? null : `${bootId}.${namespace}.${process.pid}.${began}`;
  } catch {
    return null;
  }
}

/** Whether that process is gone, as seen by `self`; true only when it is certain. */
export function isDead(owner: string, self: string | null): boolean {
  const [boot, namespace, pid, began] = owner.split('.');
  const [ownBoot, ownNamespace] = self?.split('.') ?? [];
  if (boot === undefined || boot !== ownBoot || namespace !== ownNamespace || !/^[1-9]\d*$/.test(pid ?? '')) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (thrown) {
    if (systemCode(thrown) === 'ESRCH') return true;
  }
  const now = beginningOf(pid ?? '');
  return now !== null && now !== began;
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
