import { counted } from '../../../core/counted.ts';
import type { CheckLevel } from '../../../store/folder/check-sealed.ts';
import { lastGood, type LastGood, missingTarget, type Skipped, startsFresh } from '../../../store/resume/last-good.ts';
import { readRun } from '../../../store/folder/store.ts';
import type { Clock } from '../../../core/clock.ts';
import { printable } from '../../../core/printable.ts';
import type { ProgressUpdate } from '../../output/progress.ts';

interface ResumeOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly level: 'auto' | 'deep';
  readonly isReadOnly: boolean;
  readonly worldSize: number | null;
  readonly onProgress: (update: ProgressUpdate) => void;
}

/** What `resume --json` prints; documented in docs/reference/store-json.md. */
interface ResumeReport {
  readonly schema: 'holdfast.resume/1';
  readonly run: string | null;
  readonly lastGood: {
    readonly path: string;
    readonly name: string;
    readonly step: number;
    readonly attempt: number;
    readonly save: string;
    readonly worldSize: number;
    readonly sealedAt: string;
    readonly level: CheckLevel;
    readonly because: LastGood['because'];
  } | null;
  /** Why there is no last good checkpoint. */
  readonly why: string | null;
  /** True when no checkpoint ever counted, so that the run starts fresh. */
  readonly startsFresh: boolean;
  readonly skipped: readonly Skipped[];
  readonly notes: readonly string[];
}

const BECAUSE: Readonly<Record<NonNullable<LastGood['because']>, string | null>> = {
  default: null,
  asked: null,
  boot: 'every byte was read, because this machine was restarted, or is another one, since it was last read',
  'io-error': 'every byte was read, because an I/O error was met here',
  suspect: 'every byte was read, because it was found bad, or changed, before',
  doubt: 'every byte was read, because its structure looks wrong',
};

/** Finds the last good checkpoint of a run, and returns the report. */
export async function resumeReport(path: string, options: ResumeOptions): Promise<ResumeReport> {
  const { clock, signal, level, isReadOnly, onProgress } = options;
  const found = await lastGood(readRun(path, { clock }), {
    level,
    isReadOnly,
    signal,
    onCheck: (name) => onProgress({ phase: 'checking', done: 0, total: 0, unit: 'checkpoints', current: name }),
    onBytes: (done, total, name) => onProgress({ phase: 'reading', done, total, unit: 'bytes', current: name }),
  });
  return {
    schema: 'holdfast.resume/1',
    run: found.scan.run,
    lastGood: describe(found),
    why: found.checkpoint === null ? whyNone(found) : null,
    startsFresh: startsFresh(found),
    skipped: found.skipped,
    notes: notesOf(found, options.worldSize),
  };
}

function describe({ checkpoint, level, because }: LastGood): ResumeReport['lastGood'] {
  if (checkpoint === null) return null;
  const { path, name, manifest } = checkpoint;
  const { step, attempt, save, worldSize, sealedAt } = manifest;
  return { path, name, step, attempt, save, worldSize, sealedAt, level: level ?? 'quick', because };
}

function whyNone(found: LastGood): string {
  const { skipped, withheld, scan } = found;
  const target = missingTarget(found);
  if (target !== null) return `the run was rolled back to ${printable(target.name)}, step ${target.step}, and that is not here`;
  if (skipped.length > 0)
    return `${counted(skipped.length, 'checkpoint')} ${skipped.length === 1 ? 'is' : 'are'} sealed here, and none is good`;
  if (withheld.length > 0) return `no sealed checkpoint is left here; ${counted(withheld.length, 'checkpoint')} in quarantine`;
  if (scan.rolledBack.length > 0)
    return `the run was rolled back to start fresh: ${counted(scan.rolledBack.length, 'sealed checkpoint')} left out`;
  if (scan.run === null && scan.foreign.length > 0)
    return 'checkpoints of several runs are sealed here, and .holdfast/run.json, which names the run of the folder, is missing. Move the checkpoints of the other runs elsewhere: holdfast ls RUN shows the run of each';
  if (scan.foreign.length > 0) return `nothing of this run is sealed here: ${strangers(scan.foreign)}`;
  return 'nothing is sealed here: the run starts fresh. holdfast seal PATH seals a checkpoint that another tool made';
}

function notesOf({ checkpoint, because, warning, scan }: LastGood, worldSize: number | null): readonly string[] {
  const notes: string[] = [];
  const thorough = because === null ? null : BECAUSE[because];
  if (thorough !== null) notes.push(thorough);
  if (warning !== null) notes.push(`warning: ${warning}`);
  const saved = checkpoint?.manifest.worldSize ?? null;
  if (worldSize !== null && saved !== null && saved !== worldSize)
    notes.push(`saved by ${counted(saved, 'rank')}, resumed by ${worldSize}`);
  if (checkpoint !== null && scan.rolledBack.length > 0)
    notes.push(`left out: ${counted(scan.rolledBack.length, 'checkpoint')} that the run was rolled back from`);
  if (checkpoint !== null && scan.foreign.length > 0) notes.push(strangers(scan.foreign));
  return notes;
}

/** Describes the sealed checkpoints of other runs; `ls` lists them. */
function strangers(foreign: LastGood['scan']['foreign']): string {
  const runs = new Set(foreign.map(({ run }) => run)).size;
  return `${counted(foreign.length, 'checkpoint')} of ${runs === 1 ? 'another run' : `${runs} other runs`} ${foreign.length === 1 ? 'was' : 'were'} left alone`;
}
