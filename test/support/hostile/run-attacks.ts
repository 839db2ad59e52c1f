import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitCodeOf } from '../../../src/cli/commands/verify/verify.ts';
import type { PathReport, VerifyReport } from '../../../src/verify/report.ts';
import { type MeasuredRun, measureProcess } from '../measure-process.ts';
import { LAUNCHER } from '../run-process.ts';
import type { Attack } from './attack.ts';

/**
 * A folder in memory where there is room for that; what lies in it may be too deep or too odd to be
 * removed by anything but `rm`.
 */
export function hostileFolder(): { readonly path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'holdfast-hostile-'));
  return { path, [Symbol.dispose]: () => void execFileSync('rm', ['-rf', path]) };
}

/** What came of one attack. */
export interface Outcome {
  readonly attack: Attack;
  /** What the report says about it; null when there is no report. */
  readonly report: PathReport | null;
  /** The exit code it would have had alone. */
  readonly exit: number | null;
  readonly codes: readonly string[];
}

/** One process over several attacks. */
export interface Assault {
  readonly run: MeasuredRun;
  readonly outcomes: readonly Outcome[];
}

/** Far more than all attacks together take, even on a busy machine. */
const MOST_SECONDS = 600;

/** Writes the attacks below `folder`. */
export function writeAttacks(attacks: readonly Attack[], folder: string): readonly string[] {
  return attacks.map((attack, index) => {
    const path = join(folder, `${String(index).padStart(3, '0')}.pt`);
    attack.write(path);
    return path;
  });
}

/** Verifies them all in one process: what one leaves behind may not spoil the next. */
export async function runAttacks(attacks: readonly Attack[], paths: readonly string[]): Promise<Assault> {
  const options = attacks[0]?.options ?? [];
  const run = await measureProcess([LAUNCHER, 'verify', '--json', ...options, ...paths], MOST_SECONDS);
  const report = run.stdout === '' ? null : (JSON.parse(run.stdout) as VerifyReport);
  const outcomes = attacks.map((attack, index) => outcomeOf(attack, report?.paths[index] ?? null));
  return { run, outcomes };
}

function outcomeOf(attack: Attack, report: PathReport | null): Outcome {
  if (report === null) return { attack, report, exit: null, codes: [] };
  const evidence = [...report.evidence, ...report.checkpoints.flatMap((checkpoint) => checkpoint.evidence)];
  const strict = attack.options?.includes('--strict') === true;
  const exit = exitCodeOf({ schema: 'holdfast.verify/1', level: 'quick', paths: [report] }, { requireChecked: false, strict });
  return { attack, report, exit, codes: [...new Set(evidence.map(({ code }) => code))] };
}
