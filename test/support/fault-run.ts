import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckpointReport, Level, PathReport } from '../../src/checkpoint/report.ts';
import type { Verdict } from '../../src/checkpoint/verdict.ts';
import { verifyPaths } from '../../src/checkpoint/verify.ts';
import { type Damage, FAULTS, type Fault, type Subject } from './faults.ts';

/** A damaged copy of a fixture. */
export interface Damaged {
  readonly subject: Subject;
  readonly fault: Fault;
  readonly damage: Damage;
  /** What to give to `verify` or to the loader. */
  readonly path: string;
}

/** What `verify` says about a damaged copy. */
export interface Answer {
  /** ABSENT: the checkpoint is not among those that were found. */
  readonly verdict: Verdict | 'ABSENT';
  /** Codes of all evidence about it and about the run, notes left out. */
  readonly codes: readonly string[];
  /** True when something is still offered to a run, in place of the damaged checkpoint, that was not there before. */
  readonly hasImpostor: boolean;
  readonly report: PathReport;
}

/** Every fault in every way it can be done to the subject, each on a copy of its own below `scratch`. */
export function damageAll(subject: Subject, folder: string, scratch: string): readonly Damaged[] {
  return FAULTS.flatMap((fault) =>
    fault.damages(subject).map((damage, index) => {
      const copy = join(scratch, `${subject.fixture.id}.${fault.id}.${index}`);
      cpSync(folder, copy, { recursive: true, verbatimSymlinks: true });
      damage.apply(copy);
      return { subject, fault, damage, path: join(copy, subject.fixture.path) };
    }),
  );
}

export async function verifyAll(paths: readonly string[], level: Level): Promise<readonly PathReport[]> {
  const report = await verifyPaths(paths, { level, signal: new AbortController().signal });
  return report.paths;
}

/** The answer about the checkpoint that the framework would resume from, which is the one that was damaged. */
export function answerOf(report: PathReport, whole: PathReport): Answer {
  const below = (from: PathReport, { path }: CheckpointReport) => path.slice(from.path.length);
  const [newest] = whole.checkpoints;
  if (newest === undefined) throw new Error(`nothing was found in the whole checkpoint ${whole.path}`);
  const damaged = report.checkpoints.find((checkpoint) => below(report, checkpoint) === below(whole, newest));
  const known = new Set(whole.checkpoints.map((checkpoint) => below(whole, checkpoint)));
  return {
    verdict: damaged?.verdict ?? 'ABSENT',
    codes: [
      ...new Set([...(damaged?.evidence ?? []), ...report.evidence].filter(({ effect }) => effect !== 'note').map(({ code }) => code)),
    ],
    hasImpostor: report.checkpoints.some((checkpoint) => isGood(checkpoint.verdict) && !known.has(below(report, checkpoint))),
    report,
  };
}

function isGood(verdict: Verdict): boolean {
  return verdict === 'RESUMABLE' || verdict === 'UNCHECKED';
}

/** True when the answer tells that something is wrong. Weights alone are nothing new where there never was anything else. */
export function isFound({ verdict, hasImpostor }: Answer, { fixture }: Subject): boolean {
  if (hasImpostor) return false;
  if (verdict === 'ABSENT') return true;
  return !isGood(verdict) && !(verdict === 'WEIGHTS_ONLY' && fixture.deserves.quick === 'WEIGHTS_ONLY');
}
