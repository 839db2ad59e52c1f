import { printable } from '../../../core/printable.ts';
import { type Risk, RISK_SEVERITIES, RISKS, type RiskCode, type RiskSeverity } from '../../../whatif/audit/risk.ts';
import { problemLine } from '../../cluster/read-state.ts';
import type { Output } from '../../output/output.ts';
import { wrap } from '../../output/table.ts';
import { fitWidth } from '../../output/width.ts';
import type { ReadWorld } from './read-world.ts';
import { renderNotes } from './render-notes.ts';

/** The risks of a cluster. */
export interface ShownAudit {
  readonly risks: readonly Risk[];
  readonly read: ReadWorld;
}

/** Of each kind of risk so many are shown; --json has all. */
const MOST_OF_A_KIND = 6;

/** Whether a risk is at least this severe. */
export function isAtLeast({ code }: Risk, severity: RiskSeverity): boolean {
  return RISK_SEVERITIES.indexOf(RISKS[code].severity) <= RISK_SEVERITIES.indexOf(severity);
}

/** Prints the risks, and names what could not be read. */
export function showAudit(shown: ShownAudit, output: Output): void {
  const { risks, read } = shown;
  if (output.json) return output.printJson(auditData(shown));
  if (output.quiet) output.print(...risks.map(({ code, subject }) => `${code}  ${printable(subject)}`));
  else output.print(...renderAudit(shown, output));
  for (const problem of read.problems) output.note(`left out: ${problemLine(problem)}`);
}

/** The output of `whatif audit --json`; documented in docs/reference/whatif-json.md. */
function auditData({ risks, read }: ShownAudit) {
  return {
    schema: 'holdfast.whatif/1',
    question: 'audit',
    from: read.from,
    version: read.world.version,
    at: new Date(read.world.nowMs).toISOString(),
    risks: risks.map((risk) => ({ ...risk, severity: RISKS[risk.code].severity })),
    notes: read.world.notes,
    problems: read.problems,
  };
}

/** The risks by kind, the worst first. */
function renderAudit({ risks, read }: ShownAudit, look: Pick<Output, 'style' | 'columns'>): readonly string[] {
  const { style, columns } = look;
  const counts = RISK_SEVERITIES.map((severity) => ({
    severity,
    count: risks.filter(({ code }) => RISKS[code].severity === severity).length,
  }));
  const sum = counts
    .filter(({ count }) => count > 0)
    .map(({ severity, count }) => `${count} ${severity}${count === 1 || severity === 'info' ? '' : 's'}`);
  const codes = [...new Set(risks.map(({ code }) => code))];
  return [
    style.bold(risks.length === 0 ? 'No risk was found.' : sum.join(', ')),
    style.dim(fitWidth(`${printable(read.from)}, Kubernetes ${printable(read.world.version)}`, columns)),
    ...codes.flatMap((code) => [
      '',
      ...renderKind(
        code,
        risks.filter((risk) => risk.code === code),
        look,
      ),
    ]),
    ...(read.world.notes.length === 0 ? [] : ['', ...renderNotes(read.world.notes, look)]),
  ];
}

function renderKind(code: RiskCode, risks: readonly Risk[], { style, columns }: Pick<Output, 'style' | 'columns'>): readonly string[] {
  const { severity, title } = RISKS[code];
  const paint = { error: style.red, warning: style.yellow, info: style.blue }[severity];
  const fixes = [...new Set(risks.map(({ fix }) => fix))].slice(0, 2);
  const left = risks.length - MOST_OF_A_KIND;
  const hanging = (text: string, indent: string): readonly string[] =>
    wrap(printable(text), columns - indent.length).map((line) => indent + line);
  return [
    `${paint(severity)}  ${style.bold(code)}  ${style.dim(title)}`,
    ...risks.slice(0, MOST_OF_A_KIND).flatMap(({ subject, evidence }) => [`  ${printable(subject)}`, ...hanging(evidence, '    ')]),
    ...(left > 0 ? [style.dim(`  and ${left} more; --json has all`)] : []),
    ...fixes.flatMap((fix) => hanging(`fix: ${fix}`, '  ').map(style.green)),
  ];
}
