import { opendirSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError, systemCode } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import type { Parameter } from '../../../domain/sweep/grid.ts';
import type { EventOf } from '../../../ledger/events.ts';
import { readLedger } from '../../../ledger/reader.ts';
import { type Lane, lanesOf } from '../../../ledger/timeline.ts';
import type { ProgressUpdate } from '../../output/progress.ts';

/**
 * The state of a trial: `training` has no end yet, and `silent` has none although nothing was
 * recorded for a while. The others are the ends of the newest attempt.
 */
export type TrialState = 'finished' | 'training' | 'silent' | 'interrupted' | 'failed';

/** One trial of a sweep in `ls --sweep --json`. */
export interface ListedTrial {
  readonly name: string;
  readonly path: string;
  /** Null: its ledger names no trial. */
  readonly index: number | null;
  readonly parameters: readonly Parameter[];
  readonly state: TrialState;
  readonly attempts: number;
  readonly step: number | null;
  readonly lastGoodStep: number | null;
  /** The last loss that the trainer reported; null: none. */
  readonly loss: number | null;
}

/** What `ls --sweep --json` prints; documented in docs/reference/store-json.md. */
export interface SweepReport {
  readonly schema: 'holdfast.sweep/1';
  readonly path: string;
  /** How many trials the grid has; null: unknown. */
  readonly count: number | null;
  /** The trials that have started, the smallest loss first. */
  readonly trials: readonly ListedTrial[];
}

interface SweepOptions {
  readonly nowMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: (update: ProgressUpdate) => void;
}

/** The newest part of each ledger file that is read: it holds the newest attempts. */
const LEDGER_BYTES = 1024 * 1024;
const MOST_TRIALS = 100_000;
/** A live supervisor records its progress every ten seconds; a save may take much longer. */
const SILENT_MS = 10 * 60_000;

/** Lists the trials in the folder of a sweep. A folder without attempts is no trial. */
export async function listSweep(path: string, { nowMs, signal, onProgress }: SweepOptions): Promise<SweepReport> {
  const names = foldersIn(path);
  const trials: { readonly trial: ListedTrial; readonly count: number | null }[] = [];
  for (const [index, name] of names.entries()) {
    onProgress({ phase: 'reading', done: index, total: names.length, unit: 'trials', current: name });
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    const trial = trialIn(join(path, name), name, nowMs);
    if (trial !== null) trials.push(trial);
  }
  return {
    schema: 'holdfast.sweep/1',
    path,
    count: trials.find(({ count }) => count !== null)?.count ?? null,
    trials: trials.map(({ trial }) => trial).toSorted(byLoss),
  };
}

function byLoss(a: ListedTrial, b: ListedTrial): number {
  if (a.loss !== b.loss) return (a.loss ?? Number.POSITIVE_INFINITY) < (b.loss ?? Number.POSITIVE_INFINITY) ? -1 : 1;
  return (a.index ?? 0) - (b.index ?? 0);
}

function foldersIn(path: string): readonly string[] {
  const names: string[] = [];
  try {
    const folder = opendirSync(path);
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
        if (entry.isDirectory() && !entry.name.startsWith('.')) names.push(entry.name);
        if (names.length > MOST_TRIALS) throw tooMany(path);
      }
    } finally {
      folder.closeSync();
    }
  } catch (thrown) {
    if (thrown instanceof HoldfastError) throw thrown;
    const isMissing = systemCode(thrown) === 'ENOENT';
    throw new HoldfastError(isMissing ? 'PATH_NOT_FOUND' : 'PATH_NOT_READABLE', {
      message: isMissing ? `${printable(path)} does not exist` : `${printable(path)} cannot be read: ${systemCode(thrown) ?? 'unknown'}`,
      hint: 'Give the folder that --dir names in holdfast run --grid.',
      cause: thrown,
    });
  }
  return names.toSorted();
}

function tooMany(path: string): HoldfastError {
  return new HoldfastError('PATH_NOT_READABLE', {
    message: `${printable(path)} has more than ${MOST_TRIALS} folders`,
    hint: 'Give the folder of one sweep.',
  });
}

function trialIn(path: string, name: string, nowMs: number): { readonly trial: ListedTrial; readonly count: number | null } | null {
  let lanes: readonly Lane[];
  try {
    lanes = lanesOf(readLedger(path, LEDGER_BYTES).events);
  } catch {
    return null;
  }
  const newest = lanes.at(-1);
  if (newest === undefined) return null;
  const events = lanes.flatMap((lane) => lane.events.map(({ event }) => event));
  const named = events.findLast((event): event is EventOf<'trial'> => event.kind === 'trial');
  const losses = events.flatMap((event) => (event.kind === 'progress' && event.loss !== null ? [event.loss] : []));
  const steps = lanes.flatMap(({ lastStep }) => lastStep ?? []);
  const good = lanes.flatMap(({ lastSealedStep, resumeStep }) => lastSealedStep ?? resumeStep ?? []);
  return {
    count: named?.count ?? null,
    trial: {
      name,
      path,
      index: named?.index ?? null,
      parameters: named?.parameters.map((parameter) => ({ name: parameter.name, value: parameter.value })) ?? [],
      state: stateOf(newest, nowMs),
      attempts: newest.attempt,
      step: steps.length === 0 ? null : Math.max(...steps),
      lastGoodStep: good.at(-1) ?? null,
      loss: losses.at(-1) ?? null,
    },
  };
}

function stateOf({ end, seenMs }: Lane, nowMs: number): TrialState {
  if (end === null) return nowMs - seenMs > SILENT_MS ? 'silent' : 'training';
  if (end.end === 'finished' || end.end === 'interrupted') return end.end;
  return 'failed';
}
