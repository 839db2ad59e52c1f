import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../core/clock.ts';
import { STORE_FOLDER } from '../../../seal/names.ts';
import { lastGood, startsFresh } from '../../../store/resume/last-good.ts';
import { readRun } from '../../../store/folder/store.ts';
import { joinPath } from '../../../verify/make-report.ts';
import type { PathReport, VerifyReport } from '../../../verify/report.ts';

interface AskOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly requireChecked: boolean;
}

/**
 * Returns the report with the last good checkpoint that `resume` would use, where a path is the
 * folder of a run. Only the store knows the attempts, a rollback and earlier findings. Without it
 * the two commands would disagree.
 */
export async function asResumeSays(report: VerifyReport, options: AskOptions): Promise<VerifyReport> {
  const paths: PathReport[] = [];
  for (const one of report.paths) paths.push(isRun(one.path) ? await asked(one, report.level, options) : one);
  return { ...report, paths };
}

function isRun(path: string): boolean {
  try {
    return lstatSync(join(path, STORE_FOLDER, 'run.json')).isFile();
  } catch {
    // verify has checked the path itself, and reports the problem with it.
    return false;
  }
}

async function asked(report: PathReport, level: VerifyReport['level'], { clock, signal, requireChecked }: AskOptions): Promise<PathReport> {
  const found = await lastGood(readRun(report.path, { clock }), { level: level === 'deep' ? 'deep' : 'auto', isReadOnly: true, signal });
  // The run has no sealed checkpoint; its trainer may still resume from unsealed ones.
  if (found.checkpoint === null && startsFresh(found)) return report;
  const isProven = found.level === 'deep' || !requireChecked;
  const path = found.checkpoint !== null && isProven ? joinPath(report.path, found.checkpoint.name) : null;
  const checkpoints = report.checkpoints.map((one) => ({ ...one, isLastGood: one.path === path }));
  return { ...report, checkpoints, lastGood: path };
}
