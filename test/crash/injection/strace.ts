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

export function injectArgument({ call, nth, fault }: Injection): string {
  return `inject=${call}:${fault === 'SIGKILL' ? 'signal' : 'error'}=${fault}:when=${nth}`;
}

/** The subject looks for these two files, which are not there, right before and right after the protocol. */
export const BEGIN = '/holdfast-protocol-begins';
export const END = '/holdfast-protocol-ends';

/** How often each call had been used when the protocol began and when it ended, read from strace's own output (`-f`, `-o`). */
export function callRanges(trace: string): Map<Call, { readonly first: number; readonly last: number }> {
  const counts = new Map<string, number>();
  let [begin, end] = [new Map<string, number>(), new Map<string, number>()];
  let main: string | null = null;
  for (const line of trace.split('\n')) {
    const match = /^(\d+) +([a-z0-9_]+)\((.*)/.exec(line);
    if (match === null) continue;
    const [, pid = '', call = '', rest = ''] = match;
    // Counters are per thread, and the protocol runs on the first one, which strace shows first.
    main ??= pid;
    if (pid !== main) continue;
    counts.set(call, (counts.get(call) ?? 0) + 1);
    if (rest.includes(BEGIN)) begin = new Map(counts);
    if (rest.includes(END)) end = new Map(counts);
  }
  const ranges = CALLS.map((call) => [call, { first: (begin.get(call) ?? 0) + 1, last: end.get(call) ?? 0 }] as const);
  return new Map(ranges.filter(([, { first, last }]) => last >= first));
}
