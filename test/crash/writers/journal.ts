import { existsSync, readFileSync } from 'node:fs';
import type { HistoryEvent } from './history.ts';
import type { BeginFacts, EndFacts, JournalLine } from './job.ts';

export interface ReadJournal {
  readonly events: readonly HistoryEvent[];
  /** Gang of each attempt that was answered. */
  readonly gangs: readonly { readonly gang: string; readonly attempt: number }[];
  readonly errors: readonly string[];
}

/** Makes a history from the journal of one process. */
export function readJournal(file: string, process: string): ReadJournal {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  const open = new Map<number, { from: bigint; begin: BeginFacts }>();
  const events: HistoryEvent[] = [];
  const gangs: { gang: string; attempt: number }[] = [];
  const errors: string[] = [];
  for (const line of lines.map((text) => JSON.parse(text) as JournalLine)) {
    if ('begin' in line) {
      open.set(line.call, { from: BigInt(line.at), begin: line.begin });
      continue;
    }
    const { from, begin } = open.get(line.call) ?? { from: 0n, begin: { kind: 'read' } as const };
    open.delete(line.call);
    if (line.end.error !== undefined) errors.push(`${process}: ${begin.kind}: ${line.end.error}`);
    if (begin.kind === 'attempt' && line.end.attempt !== undefined) gangs.push({ gang: begin.gang, attempt: line.end.attempt });
    events.push(...eventOf({ from, to: BigInt(line.at), process }, begin, line.end));
  }
  for (const { from, begin } of open.values()) events.push(...eventOf({ from, to: null, process }, begin, {}));
  return { events, gangs, errors };
}

function eventOf(when: { from: bigint; to: bigint | null; process: string }, begin: BeginFacts, end: EndFacts): HistoryEvent[] {
  switch (begin.kind) {
    case 'commit':
      return [{ ...when, kind: 'commit', place: { attempt: begin.attempt, step: begin.step }, outcome: end.outcome ?? 'unknown' }];
    case 'attempt':
      return end.attempt === undefined ? [] : [{ ...when, kind: 'attempt', attempt: end.attempt, seen: end.seen ?? null }];
    case 'read':
      return end.lastGood === undefined ? [] : [{ ...when, kind: 'read', lastGood: end.lastGood }];
  }
}
