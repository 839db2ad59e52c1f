import { printable } from '../../../core/printable.ts';
import type { Finding, Severity, Skip } from '../../../lint/source/finding.ts';
import { SKIP_KINDS } from '../../../lint/source/finding.ts';
import type { Output } from '../../output/output.ts';
import { wrap } from '../../output/table.ts';
import { reportJson } from './report-json.ts';
import type { LintReport } from './run-lint.ts';
import { sarif } from './sarif.ts';

/** Prints a report in the format that was asked for. */
export function render(report: LintReport, format: 'text' | 'json' | 'sarif' | 'github', output: Output): void {
  switch (format) {
    case 'json':
      return output.printJson(reportJson(report));
    case 'sarif':
      return output.printJson(sarif(report));
    case 'github':
      for (const finding of report.result.findings) output.print(annotation(finding));
      for (const skip of report.failures) output.print(skipAnnotation(skip));
      return;
    case 'text':
      return renderText(report, output);
  }
}

const LEVELS: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', info: 'notice' };

/**
 * A workflow command of GitHub Actions: what it prints stands beside the line in a pull request.
 */
function annotation({ code, severity, path, start, end, message, fix }: Finding): string {
  const place = `file=${property(path)},line=${start.line},endLine=${end.line},col=${start.column},endColumn=${end.column},title=${property(code)}`;
  return `::${LEVELS[severity]} ${place}::${data(`${message} ${fix}`)}`;
}

function skipAnnotation({ path, start, message }: Skip): string {
  return `::warning file=${property(path)},line=${start.line},title=not linted::${data(message)}`;
}

function data(text: string): string {
  return printable(text).replaceAll('%', '%25');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

function renderText(report: LintReport, output: Output): void {
  const { result, diff, fixed, wasWritten } = report;
  if (output.quiet) {
    for (const { path, start, code } of result.findings) output.print(`${printable(path)}:${start.line}:${start.column} ${code}`);
    return;
  }
  for (const line of diff ?? []) output.print(paintDiff(printable(line), output));
  if (diff !== null && diff.length > 0) output.print('');
  if (wasWritten && fixed.length > 0) output.print(...fixed.map(({ path, codes }) => `Fixed ${printable(path)}: ${codes.join(', ')}`), '');
  for (const [path, own] of Map.groupBy(result.findings, (finding) => finding.path)) {
    output.print(output.style.bold(path === '-' ? 'standard input' : printable(path)));
    for (const finding of own) output.print(...findingLines(finding, output));
    output.print('');
  }
  output.print(summary(report, output));
  for (const line of skippedLines(report)) output.note(line);
}

function findingLines({ code, severity, start, message, fix, edits }: Finding, { style, columns }: Output): readonly string[] {
  const paint = { error: style.red, warning: style.yellow, info: style.blue }[severity];
  const place = `${start.line}:${start.column}`.padEnd(8);
  const indent = ' '.repeat(10);
  const body = wrap(printable(message), columns - indent.length).map((line) => indent + line);
  const way = wrap(`${fix}${edits.length > 0 ? ' (--fix)' : ''}`, columns - indent.length).map((line) => style.dim(indent + line));
  return [`  ${place}${paint(severity.padEnd(8))} ${code}`, ...body, ...way];
}

function summary({ result: { findings, suppressed, objects, scripts } }: LintReport, { style }: Output): string {
  const count = (severity: Severity): number => findings.filter((one) => one.severity === severity).length;
  const seen = `${plural(objects, 'object')} and ${plural(scripts, 'script')}`;
  const off = suppressed.length === 0 ? '' : `, ${suppressed.length} switched off by comments`;
  if (objects + scripts === 0) return 'Nothing was linted: no object and no script that a rule is about.';
  if (findings.length === 0) return style.green(`No findings in ${seen}${off}.`);
  const parts = [plural(count('error'), 'error'), plural(count('warning'), 'warning'), `${count('info')} info`];
  const fixable = findings.filter(({ edits }) => edits.length > 0).length;
  return `${parts.join(', ')} in ${seen}${off}${fixable === 0 ? '' : `; --fix can fix ${fixable}`}. \`holdfast explain CODE\` tells more.`;
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

/** What was not linted: each failure by itself, the rest in one line. */
function skippedLines({ result: { skips, otherKinds, otherScripts } }: LintReport): readonly string[] {
  const lines = skips.map(
    ({ path, start, kind, message }) =>
      `not linted: ${path === '-' ? 'standard input' : printable(path)}:${start.line}:${start.column} ${SKIP_KINDS[kind].title}: ${printable(message)}`,
  );
  const kinds = [...otherKinds].map(([kind, count]) => (count === 1 ? kind : `${kind} ×${count}`));
  if (kinds.length > 0) lines.push(`no rule is about: ${kinds.join(', ')}`);
  if (otherScripts > 0)
    lines.push(`${plural(otherScripts, 'Python file')} ${otherScripts === 1 ? 'has' : 'have'} nothing to do with training`);
  return lines;
}

function paintDiff(line: string, { style }: Output): string {
  if (line.startsWith('+')) return style.green(line);
  return line.startsWith('-') ? style.red(line) : line.startsWith('@@') ? style.cyan(line) : line;
}
