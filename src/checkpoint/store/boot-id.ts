import { readFileSync } from 'node:fs';

/** Identifies this life of the machine's kernel; null where the system does not tell. */
export function readBootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() || null;
  } catch {
    return null;
  }
}
