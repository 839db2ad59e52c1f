import { CALLS, type Call } from './strace.ts';

/** A file that is not there; looking for it leaves a mark in the trace. */
export function mark(what: string, run: number): string {
  return `/holdfast-${what}/${run}`;
}

/** What a trace shows of one run of the subject. */
export interface TracedRun {
  readonly end: 'answered' | 'refused' | 'killed' | `failed-${string}`;
  /** The first use of its call, from 1, that got the fault; null when none did. */
  readonly injected: number | null;
  /** How often each call had been used, counted as strace counts, when it began and when it ended. */
  readonly from: ReadonlyMap<Call, number>;
  readonly to: ReadonlyMap<Call, number>;
}

interface OpenRun {
  end: TracedRun['end'];
  injected: number | null;
  readonly from: Map<Call, number>;
  to: Map<Call, number>;
}

/** Reads strace's own output (`-f -o`): runs that had begun, by number. */
export function readTrace(trace: string): Map<number, TracedRun> {
  const runs = new Map<number, OpenRun>();
  const counts = new Map<Call, number>();
  let current: OpenRun | null = null;
  for (const { call, rest } of mainThread(trace)) {
    const [, what, number] = /"\/holdfast-(.*)\/(\d+)"/.exec(rest) ?? [];
    if (what === 'begins') {
      current = { end: 'killed', injected: null, from: new Map(counts), to: new Map() };
      runs.set(Number(number), current);
    } else if (what !== undefined) current = closeRun(current, what, counts);
    if (isCall(call)) countCall(current, call, rest, counts);
  }
  return runs;
}

/** Takes a mark other than the beginning: what it says of the run, or that the run is over. */
function closeRun(current: OpenRun | null, what: string, counts: ReadonlyMap<Call, number>): OpenRun | null {
  if (current === null) return null;
  if (what === 'stumbles') {
    current.to = new Map(counts);
    return null;
  }
  current.end = what as TracedRun['end'];
  return current;
}

function countCall(current: OpenRun | null, call: Call, rest: string, counts: Map<Call, number>): void {
  const uses = (counts.get(call) ?? 0) + 1;
  counts.set(call, uses);
  if (current !== null && rest.includes('(INJECTED)')) current.injected ??= uses - (current.from.get(call) ?? 0);
}

/** The calls of the first thread, which strace shows first: counters are per thread, and the protocol runs on this one. */
function* mainThread(trace: string): Generator<{ readonly call: string; readonly rest: string }> {
  let main: string | null = null;
  for (const line of trace.split('\n')) {
    const [, pid, call = '', rest = ''] = /^(\d+) +([a-z0-9_]+)\((.*)/.exec(line) ?? [];
    if (pid === undefined) continue;
    main ??= pid;
    if (pid === main) yield { call, rest };
  }
}

function isCall(name: string): name is Call {
  return (CALLS as readonly string[]).includes(name);
}
