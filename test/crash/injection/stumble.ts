import { closeSync, fdatasyncSync, fsyncSync, mkdirSync, openSync, readSync, renameSync, rmdirSync, unlinkSync, writeSync } from 'node:fs';
import type { Call } from './strace.ts';

const NOWHERE = '/holdfast-nowhere';
const byte = Buffer.alloc(1);
const zeros = openSync('/dev/zero', 'r+');
const file = openSync('/proc/self/exe', 'r');

/** One use of each system call that changes nothing, if it succeeds at all. */
const IDLE: Readonly<Record<Call, () => unknown>> = {
  openat: () => closeSync(openSync('/dev/null', 'r')),
  read: () => readSync(zeros, byte, 0, 1, null),
  pread64: () => readSync(file, byte, 0, 1, 0),
  write: () => writeSync(zeros, byte, 0, 1, null),
  pwrite64: () => writeSync(zeros, byte, 0, 1, 0),
  fsync: () => fsyncSync(zeros),
  fdatasync: () => fdatasyncSync(zeros),
  rename: () => renameSync(NOWHERE, NOWHERE),
  mkdir: () => mkdirSync('/'),
  unlink: () => unlinkSync(NOWHERE),
  rmdir: () => rmdirSync(NOWHERE),
  close: () => closeSync(openSync('/dev/null', 'r')),
};

export function stumble(call: Call, times: number): void {
  for (let done = 0; done < times; done++) {
    try {
      IDLE[call]();
    } catch {
      // Most of them fail, and a fault may come here too.
    }
  }
}
