import { formatBytes } from '../../../core/bytes.ts';
import { formatDuration } from '../../../core/duration.ts';
import { printable } from '../../../core/printable.ts';
import type { Style } from '../../output/style.ts';
import { renderTable, wrap } from '../../output/table.ts';
import { verdictLabel } from '../verify/render-verdict.ts';
import type { ListedCheckpoint, ListReport } from './list-run.ts';

interface Look {
  readonly style: Style;
  readonly columns: number;
}

/** Renders the sealed checkpoints of a run for the terminal. */
export function renderList(report: ListReport, look: Look, nowMs: number): readonly string[] {
  const { style, columns } = look;
  const { checkpoints, level } = report;
  const lines = [`${style.bold(printable(report.path))} · ${checkpoints.length} sealed · ${level}`];
  if (checkpoints.length > 0) {
    const titles = [
      ['  VERDICT'],
      ['STEP', 'right'],
      ['ATTEMPT', 'right'],
      ['AGE', 'right'],
      ['SIZE', 'right'],
      ['WHERE'],
      ['CHECKPOINT'],
    ] as const;
    const header = titles.map(([title, align]) => ({ title: style.dim(title), align: align ?? 'left' }) as const);
    lines.push(
      '',
      ...renderTable(
        header,
        checkpoints.map((checkpoint) => row(checkpoint, style, nowMs)),
      ),
      '',
    );
  }
  for (const { name, reason, code, warning } of checkpoints) {
    if (reason !== null) lines.push(...note(`✗ ${printable(name)}: ${reason}`, columns, code));
    if (warning !== null) lines.push(...note(`! ${printable(name)}: ${warning}`, columns));
  }
  for (const { name, reason } of report.broken) lines.push(...note(`✗ ${printable(name)}: its manifest ${reason}`, columns));
  for (const { name, run } of report.foreign)
    lines.push(...note(`· ${printable(name)} belongs to run ${printable(run)}; it is left alone`, columns));
  for (const { id, reason, code } of report.quarantined)
    lines.push(...note(`· in quarantine: ${printable(id)}: ${printable(reason)}`, columns, code));
  lines.push(conclusion(report, style));
  return lines;
}

/**
 * Renders a line with a mark. Long text wraps below its start, and the code follows the last word.
 */
function note(text: string, columns: number, code: string | null = null): readonly string[] {
  const lines = wrap(text, columns - 2 - (code === null ? 0 : code.length + 3));
  return lines.map((line, index) => `${index === 0 ? '' : '  '}${line}${code !== null && index === lines.length - 1 ? ` [${code}]` : ''}`);
}

function row(checkpoint: ListedCheckpoint, style: Style, nowMs: number): readonly string[] {
  const { isLastGood, isPinned, isRolledBack, where } = checkpoint;
  const marks = [isLastGood ? style.green('← last good') : '', isPinned ? 'pinned' : '', isRolledBack ? style.dim('rolled back') : ''];
  return [
    `${isLastGood ? style.green('▸') : ' '} ${verdictLabel(checkpoint.verdict, style)}`,
    String(checkpoint.step),
    String(checkpoint.attempt),
    // A clock that jumped back makes the age negative, and fractions of a second mean nothing.
    formatDuration(Math.max(1000, Math.round((nowMs - Date.parse(checkpoint.sealedAt)) / 1000) * 1000)),
    formatBytes(checkpoint.bytes),
    where.join(', '),
    [printable(checkpoint.name), ...marks.filter((mark) => mark !== '')].join('  '),
  ];
}

const READ_FIRST: Readonly<Record<NonNullable<ListReport['readFirst']>, string>> = {
  boot: 'this machine was restarted, or is another one, since they were last read',
  'io-error': 'an I/O error was met here',
  suspect: 'it was found bad, or changed, before',
};

function conclusion(report: ListReport, style: Style): string {
  const { lastGood, readFirst, checkpoints, broken, quarantined, missingTarget } = report;
  if (lastGood !== null) {
    const resumes = `A run resumes from ${style.bold(printable(lastGood))}`;
    if (readFirst === null) return `${resumes}.`;
    return `${resumes} if its bytes match its seal: it reads them first, because ${READ_FIRST[readFirst]}. holdfast ls --deep reads them now.`;
  }
  if (missingTarget !== null) {
    const gone = style.red(
      `The run was rolled back to ${printable(missingTarget.name)}, step ${missingTarget.step}, which does not exist here.`,
    );
    return `${gone} Decide again with holdfast rollback RUN: --to=STEP, --undo or --fresh.`;
  }
  if (report.run === null && report.foreign.length > 0) {
    return `${style.red('Checkpoints of several runs are here, and it is unknown which run owns the folder:')} .holdfast/run.json is missing. Move the checkpoints of the other runs elsewhere.`;
  }
  if (checkpoints.length + broken.length === 0) {
    if (quarantined.length === 0) return 'Nothing is sealed here.';
    return 'Every sealed checkpoint is in quarantine. holdfast quarantine RUN --restore=NAME restores one.';
  }
  if (checkpoints.length > 0 && checkpoints.every(({ isRolledBack }) => isRolledBack)) {
    return 'A run starts fresh: it was rolled back from every checkpoint here. holdfast rollback RUN --undo undoes that.';
  }
  return style.red('No checkpoint is good enough to resume from.');
}
