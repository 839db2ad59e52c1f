import { formatDuration } from '../../../core/duration.ts';
import { printable } from '../../../core/printable.ts';
import type { GraceLine, GraceReport, Verdict } from '../../../grace/grace-report.ts';
import { problemLine } from '../../cluster/read-state.ts';
import type { Output } from '../../output/output.ts';
import { wrap } from '../../output/table.ts';
import { displayWidth } from '../../output/width.ts';
import type { FoundReports } from './find-reports.ts';
import { graceData } from './grace-data.ts';

/** The properties of the output that decide how a report looks. */
type Look = Pick<Output, 'style' | 'columns' | 'quiet'>;

const WORDS: Readonly<Record<Verdict, string>> = {
  saves: 'saves',
  loses: 'loses up to one interval',
  deaf: 'gets no signal',
  unknown: 'save time unknown',
};

/** With these words, the longest word of a reason fits a terminal of 80 columns. */
const SHORT_WORDS: Readonly<Record<Verdict, string>> = { ...WORDS, loses: 'loses', unknown: 'unknown' };
const NARROW = 100;

/** Prints the reports, and names what is unreadable. */
export function showReports(found: FoundReports, output: Output): void {
  const { reports, problems } = found;
  if (output.json) return output.printJson(graceData(found));
  for (const [index, report] of reports.entries()) output.print(...(index === 0 ? [] : ['']), ...renderReport(report, output));
  if (reports.length === 0) output.note('no object in it creates pods');
  for (const problem of problems) output.note(`left out: ${problemLine(problem)}`);
}

/** One report for people. */
export function renderReport(report: GraceReport, output: Look): readonly string[] {
  const { subject, pod, save, lines, change } = report;
  const { style, columns } = output;
  if (output.quiet) return lines.map(({ cause, verdict, graceMs }) => `${cause}  ${formatDuration(graceMs)}  ${verdict}`);
  const need =
    save === null
      ? 'the duration of a save is unknown (give --save, --run, or --bytes with --bandwidth)'
      : `a save takes ${formatDuration(save.ms)} (${printable(save.from)})`;
  return [
    style.bold(printable(subject)),
    ...wrap(`${need}; ${pod.hearing.reason}`, columns - 2).map((text) => style.dim(`  ${text}`)),
    '',
    ...renderLines(lines, output),
    ...(change === null ? [] : ['', ...renderChange(change, output)]),
  ];
}

function renderLines(lines: readonly GraceLine[], { style, columns }: Look): readonly string[] {
  const words = columns < NARROW ? SHORT_WORDS : WORDS;
  const titles = Math.max(...lines.map(({ title }) => displayWidth(title)));
  const times = Math.max(...lines.map((line) => timeText(line).length));
  const verdicts = Math.max(...lines.map(({ verdict }) => words[verdict].length));
  const indent = 4 + titles + 2 + times + 2 + verdicts + 2;
  let before = '';
  return lines.flatMap((line) => {
    const { verdict, title } = line;
    const text = decidingLink(line);
    const [first = '', ...more] = text === before ? ['″'] : wrap(text, Math.max(24, columns - indent));
    before = text;
    const cells = [`${markOf(verdict, style)} ${title}${' '.repeat(titles - displayWidth(title))}`, timeText(line).padStart(times)];
    const start = `  ${cells.join('  ')}  ${paint(verdict, style)(words[verdict].padEnd(verdicts))}`;
    return [`${start}  ${style.dim(first)}`.trimEnd(), ...more.map((rest) => ' '.repeat(indent) + style.dim(rest))];
  });
}

function renderChange({ setting, value, because, turns }: NonNullable<GraceReport['change']>, { style, columns }: Look): readonly string[] {
  const turned = `${turns.length} ${turns.length === 1 ? 'line' : 'lines'} green (${turns.join(', ')})`;
  const text = wrap(`${printable(because)}; it turns ${turned}`, columns - 10);
  const [first = '', ...more] = wrap(`${setting}: ${printable(value)}`, columns - 10).map((line) => style.bold(line));
  return [`  ${style.green('change')}  ${first}`, ...[...more, ...text].map((line) => `          ${line}`)];
}

/** The last link of the chain decides; the JSON has the whole chain. */
function decidingLink({ links }: GraceLine): string {
  return printable(links.at(-1)?.reason ?? '');
}

function timeText({ graceMs, isTold, confidence }: GraceLine): string {
  return isTold ? `${confidence === 'guess' ? '~' : ''}${formatDuration(graceMs)}` : 'none';
}

type Paints = Output['style'];

function paint(verdict: Verdict, style: Paints): (text: string) => string {
  return { saves: style.green, loses: style.red, deaf: style.red, unknown: style.dim }[verdict];
}

function markOf(verdict: Verdict, style: Paints): string {
  const mark = { saves: '✔', loses: '✕', deaf: '∅', unknown: '·' }[verdict];
  return paint(verdict, style)(mark);
}
