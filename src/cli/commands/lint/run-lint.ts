import { chmodSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { HoldfastError, systemCode } from '../../../core/errors.ts';
import { excerpt } from '../../../core/printable.ts';
import { SEVERITIES, type Severity, type Skip, SKIP_KINDS } from '../../../lint/source/finding.ts';
import { fixAll, type Fixed } from '../../../lint/fix.ts';
import { lint, type LintResult } from '../../../lint/lint.ts';
import { unifiedDiff } from '../../../lint/engine/unified-diff.ts';
import { gather, type Stop } from '../../inputs/gather.ts';

/** The options of `holdfast lint`, parsed. */
export interface LintWishes extends Stop {
  readonly codes: ReadonlySet<string> | null;
  readonly saveMs: number | null;
  readonly severity: Severity;
  readonly isFix: boolean;
  readonly isDiff: boolean;
}

/** Everything that a format prints. */
export interface LintReport {
  readonly result: LintResult;
  /** Skipped parts of the input that make the answer incomplete. */
  readonly failures: readonly Skip[];
  readonly fixed: readonly Fixed[];
  readonly wasWritten: boolean;
  /** Null: none was asked for. */
  readonly diff: readonly string[] | null;
  readonly texts: ReadonlyMap<string, string>;
}

/** Gathers, lints, and fixes where that is asked for; the findings are those that are left. */
export async function runLint(paths: readonly string[], wishes: LintWishes): Promise<LintReport> {
  const { sources, skips } = await gather(paths, process.stdin, wishes);
  const isWanted = ({ severity }: { readonly severity: Severity }): boolean =>
    SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(wishes.severity);
  const fixed = wishes.isFix || wishes.isDiff ? await wishes.whileBusy(() => fixAll(sources, wishes, isWanted)) : [];
  if (wishes.isFix) for (const one of fixed) replaceFile(one);
  const after = wishes.isFix ? sources.map((source) => fixed.find(({ path }) => path === source.path) ?? source) : sources;
  const raw = await wishes.whileBusy(() => lint(after, wishes));
  const result = {
    ...raw,
    findings: raw.findings.filter(isWanted),
    suppressed: raw.suppressed.filter(isWanted),
    skips: [...skips, ...raw.skips],
  };
  return {
    result,
    failures: result.skips.filter(({ kind }) => SKIP_KINDS[kind].isFailure),
    fixed,
    wasWritten: wishes.isFix,
    diff: wishes.isDiff ? fixed.flatMap(({ path, before, text }) => unifiedDiff(path, before, text)) : null,
    texts: new Map(after.map(({ path, text }) => [path, text])),
  };
}

const BYTE_ORDER_MARK = '\uFEFF';

/**
 * The new text takes the place of the old one in one step, with the same permissions and the same
 * byte order mark; a link stays a link.
 */
function replaceFile({ path, text }: Fixed): void {
  const place = realpathSync(path);
  const temporary = `${place}.holdfast-lint-${process.pid}`;
  try {
    const mark = readFileSync(place, 'utf8').startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
    writeFileSync(temporary, mark + text, { flag: 'wx' });
    chmodSync(temporary, statSync(place).mode & 0o7777);
    renameSync(temporary, place);
  } catch (thrown) {
    rmSync(temporary, { force: true });
    throw new HoldfastError('OUTPUT_NOT_WRITTEN', {
      message: `${excerpt(path, 200)} cannot be written: ${systemCode(thrown) ?? 'unknown'}`,
      hint: 'Nothing was changed in it. --diff shows what --fix would write.',
      cause: thrown,
    });
  }
}
