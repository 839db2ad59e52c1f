import type { Finding, Skip } from '../../../lint/source/finding.ts';
import type { LintReport } from './run-lint.ts';

/**
 * The report as `--json` prints it: schema holdfast.lint/1, described in
 * docs/reference/lint-json.md.
 */
export function reportJson({ result, fixed, wasWritten, diff }: LintReport) {
  const { findings, suppressed, skips, objects, scripts, otherScripts, otherKinds } = result;
  const count = (severity: Finding['severity']): number => findings.filter((one) => one.severity === severity).length;
  return {
    schema: 'holdfast.lint/1',
    findings: findings.map(findingJson),
    suppressed: suppressed.map((one) => ({ ...findingJson(one), reason: one.reason })),
    skipped: skips.map(skipJson),
    fixed: wasWritten ? fixed.map(({ path, codes }) => ({ path, codes })) : [],
    ...(diff === null ? {} : { diff: diff.join('\n') }),
    counts: {
      errors: count('error'),
      warnings: count('warning'),
      infos: count('info'),
      objects,
      scripts,
      otherScripts,
      otherKinds: Object.fromEntries(otherKinds),
    },
  };
}

function findingJson({ code, severity, path, start, end, message, fix, edits }: Finding) {
  return {
    code,
    severity,
    path,
    line: start.line,
    column: start.column,
    endLine: end.line,
    endColumn: end.column,
    message,
    fix,
    isFixable: edits.length > 0,
  };
}

function skipJson({ path, start, kind, message }: Skip) {
  return { path, line: start.line, column: start.column, kind, message };
}
