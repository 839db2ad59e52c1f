import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export type Tracer = { readonly path: string } | { readonly missing: string };

/** An strace that works here, or the reason why there is none: tracing may be forbidden, and only Linux has it. */
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

/** The system calls that touch what the protocol touches. Each stands for itself in `trace=` and in `inject=`. */
export const CALLS = [
  'openat',
  'read',
  'pread64',
  'write',
  'pwrite64',
  'fsync',
  'fdatasync',
  'rename',
  'mkdir',
  'unlink',
  'rmdir',
  'close',
] as const;
export type Call = (typeof CALLS)[number];

/** A fault at the `nth` use of a system call, counted from the start of the process as strace counts. */
export interface Injection {
  readonly call: Call;
  readonly nth: number;
  readonly fault: Fault;
}

export type Fault = 'SIGKILL' | 'ENOSPC' | 'EIO' | 'EDQUOT';
export const FAULTS: readonly Fault[] = ['SIGKILL', 'ENOSPC', 'EIO', 'EDQUOT'];

/** A kill may come anywhere; the errors come from the calls that may give them. */
export function mayGive(call: Call, fault: Fault): boolean {
  switch (fault) {
    case 'SIGKILL':
      return true;
    case 'EIO':
      return true;
    case 'ENOSPC':
    case 'EDQUOT':
      return call !== 'read' && call !== 'pread64' && call !== 'unlink' && call !== 'rmdir';
  }
}

/** With `stride` the fault comes again each so many calls. */
export function injectArgument({ call, nth, fault }: Injection, stride?: number): string {
  return `inject=${call}:${fault === 'SIGKILL' ? 'signal' : 'error'}=${fault}:when=${nth}${stride === undefined ? '' : `+${stride}`}`;
}
