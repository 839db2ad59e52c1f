import { CALLS, type Call } from './strace.ts';

/** One use of a system call by the traced thread. */
export interface Use {
  readonly call: Call;
  /** From 1, among the uses of this call: as strace counts. */
  readonly nth: number;
  /** The paths of the call: its named paths, or the path of its descriptor. */
  readonly paths: readonly string[];
  readonly isInjected: boolean;
}

export interface Trace {
  readonly uses: readonly Use[];
  readonly isKilled: boolean;
}

/**
 * Calls that name their paths. The others use a descriptor, and their written bytes may look like
 * anything.
 */
const BY_NAME: ReadonlySet<Call> = new Set(['openat', 'statx', 'rename', 'link', 'mkdir', 'unlink', 'unlinkat', 'rmdir']);

/** Parses the output of strace (`-y -o`) about one thread. */
export function readTrace(text: string): Trace {
  const uses: Use[] = [];
  const counts = new Map<Call, number>();
  for (const line of text.split('\n')) {
    const [, call = '', rest = ''] = /^([a-z0-9_]+)\((.*)/.exec(line) ?? [];
    if (!isCall(call)) continue;
    const nth = (counts.get(call) ?? 0) + 1;
    counts.set(call, nth);
    uses.push({ call, nth, paths: pathsIn(call, rest), isInjected: rest.includes('(INJECTED)') });
  }
  return { uses, isKilled: text.includes('+++ killed by SIGKILL') };
}

/**
 * The use with the fault, or null. A kill comes at the entry of a call, which is then the last one
 * in the trace.
 */
export function struckUse({ uses, isKilled }: Trace): Use | null {
  return uses.find(({ isInjected }) => isInjected) ?? (isKilled ? (uses.at(-1) ?? null) : null);
}

function pathsIn(call: Call, rest: string): string[] {
  const found = BY_NAME.has(call) ? rest.matchAll(/"(\/[^"]*)"/g) : [/^\d+<(\/[^>]*)>/.exec(rest)];
  return [...found].flatMap((match) => (match?.[1] === undefined ? [] : [match[1].replace(/ \(deleted\)$/, '')]));
}

function isCall(name: string): name is Call {
  return (CALLS as readonly string[]).includes(name);
}
