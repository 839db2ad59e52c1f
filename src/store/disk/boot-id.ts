import { readFileSync } from 'node:fs';

/** Returns the id of this boot of the kernel; null where the system has none. */
export function readBootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() || null;
  } catch {
    return null;
  }
}
