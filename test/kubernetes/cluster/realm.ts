import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * The scope in which process numbers are valid: one process namespace, between two starts of the
 * machine. Containers may share a cache without seeing each other's processes.
 */
export interface Realm {
  readonly host: string;
  readonly boot: string;
  /** As the kernel names it: `pid:[4026531836]`. */
  readonly processes: string;
}

/**
 * `here`: the processes are visible. `past`: they ended when the machine restarted. `elsewhere`:
 * they are not visible from here.
 */
export type Nearness = 'here' | 'past' | 'elsewhere';

export function realmHere(): Realm {
  return {
    host: hostname(),
    boot: readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(),
    processes: readlinkSync('/proc/self/ns/pid'),
  };
}

/** Old records have no realm; they count as records from here. */
export function nearnessOf(realm: Realm | undefined, here: Realm): Nearness {
  if (realm === undefined) return 'here';
  if (realm.boot === here.boot) return realm.processes === here.processes ? 'here' : 'elsewhere';
  return realm.host === here.host ? 'past' : 'elsewhere';
}
