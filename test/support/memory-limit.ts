import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isCode } from '../../src/store/disk/store-error.ts';
import { killHard } from './trainer-process.ts';

const MOUNT = '/sys/fs/cgroup';
/** The names of the same files in the two versions of control groups. */
const SECOND = { root: MOUNT, limit: 'memory.max', swap: 'memory.swap.max', kills: 'memory.events' };
const FIRST = {
  root: join(MOUNT, 'memory'),
  limit: 'memory.limit_in_bytes',
  swap: 'memory.memsw.limit_in_bytes',
  kills: 'memory.oom_control',
};

function version(): typeof FIRST {
  return existsSync(join(MOUNT, 'cgroup.controllers')) ? SECOND : FIRST;
}

/** Why no control group with a limit can be made here, or null. */
export async function whyNoMemoryLimit(): Promise<string | null> {
  try {
    await new MemoryLimit(2 ** 30)[Symbol.asyncDispose]();
    return null;
  } catch (thrown) {
    return `a limit of memory needs root and control groups: ${String(thrown)}`;
  }
}

/**
 * A private control group. The kernel kills processes in it that grow beyond the limit. `await
 * using limit = new MemoryLimit(…)`.
 */
export class MemoryLimit {
  readonly path: string;

  constructor(bytes: number) {
    const { root, limit, swap } = version();
    if (root === MOUNT) writeFileSync(join(root, 'cgroup.subtree_control'), '+memory');
    this.path = join(root, `holdfast-test-${randomUUID()}`);
    mkdirSync(this.path);
    writeFileSync(join(this.path, limit), String(bytes));
    // Without swap, memory above the limit cannot go to a disk.
    if (existsSync(join(this.path, swap))) writeFileSync(join(this.path, swap), root === MOUNT ? '0' : String(bytes));
  }

  /** How many of its processes the kernel has killed for lack of memory. */
  get kills(): number {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(this.path, version().kills), 'latin1'))?.[1] ?? 0);
  }

  /** Kills the processes that are still in it. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (;;) {
      for (const pid of readFileSync(join(this.path, 'cgroup.procs'), 'latin1').split('\n').filter(Boolean)) killHard(Number(pid));
      try {
        return rmdirSync(this.path);
      } catch (thrown) {
        if (!isCode(thrown, 'EBUSY')) throw thrown;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
