import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Where the numbers of processes hold: in one process namespace, of a machine that was started once. Containers may share a cache, and none sees the others' processes. */
export interface Realm {
  readonly host: string;
  readonly boot: string;
  /** As the kernel names it: `pid:[4026531836]`. */
  readonly processes: string;
}

/** `here`: its processes can be seen. `past`: they ended with the machine, which was started anew. `elsewhere`: nobody can tell from here. */
export type Nearness = 'here' | 'past' | 'elsewhere';

export function realmHere(): Realm {
  return {
    host: hostname(),
    boot: readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(),
    processes: readlinkSync('/proc/self/ns/pid'),
  };
}

/** Records of old do not say where they were made, and are taken for ones of here. */
export function nearnessOf(realm: Realm | undefined, here: Realm): Nearness {
  if (realm === undefined) return 'here';
  if (realm.boot === here.boot) return realm.processes === here.processes ? 'here' : 'elsewhere';
  return realm.host === here.host ? 'past' : 'elsewhere';
}
