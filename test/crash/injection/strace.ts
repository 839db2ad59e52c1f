import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export type Tracer = { readonly path: string } | { readonly missing: string };

/**
 * An strace that works here, or the reason why there is none: tracing may be forbidden, and only
 * Linux has it.
 */
export function findStrace(): Tracer {
  if (process.platform !== 'linux') return { missing: `strace exists on Linux only, this is ${process.platform}` };
  try {
    const setup = fileURLToPath(new URL('setup-strace.sh', import.meta.url));
    const path = execFileSync(setup, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
    const tried = spawnSync(path, ['-qq', '-e', 'trace=none', 'true'], { encoding: 'utf8' });
    return tried.status === 0 ? { path } : { missing: `strace may not trace here: ${tried.stderr.trim()}` };
  } catch (thrown) {
    return { missing: `strace is not installed and Debian's could not be unpacked: ${String(thrown)}` };
  }
}

/** The kind of a system call; only some kinds can return errors. */
type Nature = 'writes' | 'reads' | 'removes';

/**
 * The system calls that touch the files of the protocol. Each appears in `trace=` and in `inject=`.
 */
const NATURES = {
  openat: 'writes',
  read: 'reads',
  pread64: 'reads',
  getdents64: 'reads',
  statx: 'reads',
  write: 'writes',
  pwrite64: 'writes',
  ftruncate: 'writes',
  fsync: 'writes',
  fdatasync: 'writes',
  rename: 'writes',
  link: 'writes',
  mkdir: 'writes',
  unlink: 'removes',
  unlinkat: 'removes',
  rmdir: 'removes',
  close: 'writes',
} as const satisfies Readonly<Record<string, Nature>>;

export type Call = keyof typeof NATURES;
export const CALLS = Object.keys(NATURES) as readonly Call[];

export type Fault = 'SIGKILL' | 'ENOSPC' | 'EIO' | 'EDQUOT';
export const FAULTS: readonly Fault[] = ['SIGKILL', 'ENOSPC', 'EIO', 'EDQUOT'];

/** Calls that only read: a kill at one of them equals a kill at the next call. */
const LOOKS: ReadonlySet<Call> = new Set(['statx', 'getdents64']);

export function mayGive(call: Call, fault: Fault): boolean {
  if (fault === 'SIGKILL') return !LOOKS.has(call);
  return fault === 'EIO' || NATURES[call] === 'writes';
}

/**
 * A fault at the `nth` use of a system call by a thread, from 1, counted from the start of strace.
 */
export interface Injection {
  readonly call: Call;
  readonly nth: number;
  readonly fault: Fault;
}

export function injectArgument({ call, nth, fault }: Injection): string {
  return `inject=${call}:${fault === 'SIGKILL' ? 'signal' : 'error'}=${fault}:when=${nth}`;
}
