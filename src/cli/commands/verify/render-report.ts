import type { CheckpointReport, PathReport, VerifyReport } from '../../../verify/report.ts';
import { formatBytes } from '../../../core/bytes.ts';
import { printable } from '../../../core/printable.ts';
import type { Style } from '../../output/style.ts';
import { renderList, renderTable } from '../../output/table.ts';
import { renderEvidence } from './render-evidence.ts';
import type { Look } from './look.ts';
import { contentLine, integrityLine, verdictLabel, verdictSentence } from './render-verdict.ts';

/**
 * Renders the report for a person: one checkpoint in full, several as a table with the reasons
 * below.
 */
export function renderReport(report: VerifyReport, look: Look): readonly string[] {
  return report.paths.flatMap((path, index) => [...(index === 0 ? [] : ['']), ...renderPath(path, report.level, look)]);
}

function renderPath(report: PathReport, level: VerifyReport['level'], look: Look): readonly string[] {
  const { style } = look;
  if (report.evidence.length === 0) return renderCheckpoints(report, level, look);
  const evidence = renderEvidence(report.evidence, {}, look);
  return [...renderCheckpoints(report, level, look), '', style.bold('The run as a whole'), ...evidence];
}

function renderCheckpoints(report: PathReport, level: VerifyReport['level'], look: Look): readonly string[] {
  const [first, second] = report.checkpoints;
  if (first === undefined) return [`${look.style.bold(printable(report.path))}: no checkpoint of a known format`];
  return second === undefined ? renderOne(first, look) : renderMany(report, level, look);
}

function renderOne(checkpoint: CheckpointReport, look: Look): readonly string[] {
  const { style, columns } = look;
  const facts = [
    checkpoint.format?.title ?? 'unknown format',
    ...stepFact(checkpoint),
    formatBytes(checkpoint.bytes),
    printable(checkpoint.grouping),
  ];
  return [
    `${verdictLabel(checkpoint.verdict, style)}  ${style.bold(printable(checkpoint.path))}`,
    '',
    `  ${verdictSentence(checkpoint)}`,
    '',
    ...renderList(
      [
        [style.dim('what it is'), facts.join(' · ')],
        [style.dim('to resume'), contentLine(checkpoint.content, style)],
        [style.dim('integrity'), integrityLine(checkpoint)],
      ],
      columns,
    ),
    ...securityLines(checkpoint, style),
    ...(checkpoint.evidence.length > 0 ? ['', ...renderEvidence(checkpoint.evidence, checkpoint.more, look)] : []),
  ];
}

function stepFact({ step }: CheckpointReport): readonly string[] {
  return step === null ? [] : [`step ${step}`];
}

function securityLines({ security }: CheckpointReport, style: Style): readonly string[] {
  return security.isUnsafe ? ['', style.red('  Loading this with pickle would run code that no framework asks for: do not load it.')] : [];
}

function renderMany(report: PathReport, level: VerifyReport['level'], look: Look): readonly string[] {
  const { style } = look;
  const { checkpoints } = report;
  const prefix = report.path === '.' ? '' : `${report.path.replace(/\/+$/, '')}/`;
  const name = ({ path }: CheckpointReport) => printable(path.startsWith(prefix) ? path.slice(prefix.length) : path);
  const rows = checkpoints.map((checkpoint) => [
    `${checkpoint.isLastGood ? style.green('▸') : ' '} ${verdictLabel(checkpoint.verdict, style)}`,
    checkpoint.step === null ? '–' : String(checkpoint.step),
    formatBytes(checkpoint.bytes),
    checkpoint.format?.title ?? 'unknown',
    `${name(checkpoint)}${checkpoint.isLastGood ? style.green('  ← last good') : ''}${checkpoint.isExport ? style.dim('  export of the weights') : ''}`,
  ]);
  const titles = [['  VERDICT'], ['STEP', 'right'], ['SIZE', 'right'], ['FORMAT'], ['CHECKPOINT']] as const;
  const header = titles.map(([title, align]) => ({ title: style.dim(title), align: align ?? 'left' }) as const);
  return [
    `${style.bold(printable(report.path))} · ${checkpoints.length} checkpoints · ${level}`,
    '',
    ...renderTable(header, rows),
    '',
    ...legend(checkpoints, look),
    ...checkpoints.flatMap((checkpoint) => reasons(checkpoint, name(checkpoint), look)),
    '',
    conclusion(report, style),
  ];
}

/** Renders the findings in one of several checkpoints; empty when the verdict says it all. */
function reasons(checkpoint: CheckpointReport, name: string, look: Look): readonly string[] {
  const telling = checkpoint.evidence.filter(({ effect }) => effect !== 'note');
  if (telling.length === 0) return [];
  const heading = `${verdictLabel(checkpoint.verdict, look.style)}  ${look.style.bold(name)}`;
  return ['', heading, ...renderEvidence(telling, checkpoint.more, look), ...securityLines(checkpoint, look.style)];
}

/** Explains each verdict in the table once. */
function legend(checkpoints: readonly CheckpointReport[], { style, columns }: Look): readonly string[] {
  const sentences = new Map(checkpoints.map((checkpoint) => [checkpoint.verdict, verdictSentence(checkpoint)]));
  return renderList(
    [...sentences].map(([verdict, sentence]) => [verdictLabel(verdict, style), sentence]),
    columns,
  );
}

function conclusion(report: PathReport, style: Style): string {
  if (report.lastGood === null) return style.red('No checkpoint here that a run could resume from.');
  return `A run could resume from ${style.green(printable(report.lastGood))}`;
}
