import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckpointReport, Level, PathReport } from '../../src/verify/report.ts';
import type { Verdict } from '../../src/verify/verdict.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { type Damage, FAULTS, type Fault, type Subject } from './faults.ts';

/** A damaged copy of a fixture. */
export interface Damaged {
  readonly subject: Subject;
  readonly fault: Fault;
  readonly damage: Damage;
  /** The path for `verify` or the loader. */
  readonly path: string;
}

/** The answer of `verify` about a damaged copy. */
export interface Answer {
  /** ABSENT: the answer does not list the checkpoint. */
  readonly verdict: Verdict | 'ABSENT';
  /** The codes of all evidence about it and its run, without notes. */
  readonly codes: readonly string[];
  /** Whether the answer offers another checkpoint that was not there before. */
  readonly hasImpostor: boolean;
  readonly report: PathReport;
}

/**
 * Applies every fault to the subject in every possible way, each to a separate copy below
 * `scratch`.
 */
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

/**
 * The answer about the damaged checkpoint, which is the one that the framework would resume from.
 */
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

/**
 * Whether the answer shows that something is wrong. If a checkpoint has only weights, WEIGHTS_ONLY
 * shows nothing.
 */
export function isFound({ verdict, hasImpostor }: Answer, { fixture }: Subject): boolean {
  if (hasImpostor) return false;
  if (verdict === 'ABSENT') return true;
  return !isGood(verdict) && !(verdict === 'WEIGHTS_ONLY' && fixture.deserves.quick === 'WEIGHTS_ONLY');
}
