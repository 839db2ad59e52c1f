import type { Recorded } from '../../../ledger/events.ts';
import type { FileReading } from '../../../ledger/file-reader.ts';
import type { LedgerReading } from '../../../ledger/reader.ts';
import { type Lane, lanesOf } from '../../../ledger/timeline.ts';

/** The part of a ledger to show. */
export interface LogReport {
  readonly path: string;
  readonly lanes: readonly Lane[];
  readonly files: readonly FileReading[];
  /** Attempts that were left out because newer ones were asked for. */
  readonly left: number;
}

/** Reads the newest attempts of a ledger; all of them when `last` is null. */
export function logReport(path: string, { events, files }: LedgerReading, last: number | null): LogReport {
  const all = lanesOf(events);
  const lanes = last === null ? all : all.slice(-last);
  return { path, lanes, files, left: all.length - lanes.length };
}

/** An event as `log --json` prints it: a readable time, and the fields of its kind. */
export function eventData({ attempt, node, seq, atMs, event }: Recorded) {
  const when = { attempt, node, seq, at: new Date(atMs).toISOString() };
  if (event.kind === 'unknown') return { ...when, kind: event.name, ...event.fields };
  return { ...when, ...event };
}

/** The output of `log --json`; documented in docs/reference/log-json.md. */
export function logData({ path, lanes, files }: LogReport) {
  return {
    schema: 'holdfast.log/1',
    path,
    attempts: lanes.map(({ attempt, nodes, startedMs, seenMs, end, resumeStep, lastStep, sealed, lastSealedStep }) => ({
      attempt,
      nodes,
      startedAt: new Date(startedMs).toISOString(),
      lastSeenAt: new Date(seenMs).toISOString(),
      end: end?.end ?? null,
      exitCode: end?.exitCode ?? null,
      cause: end?.cause ?? null,
      resumeStep,
      lastStep,
      saves: sealed,
      lastSealedStep,
      lostMs: end?.lostMs ?? null,
    })),
    events: lanes.flatMap(({ events }) => events.map(eventData)),
    files,
  };
}
