import { formatBytes } from '../../../core/bytes.ts';
import { formatDuration } from '../../../core/duration.ts';
import { printable } from '../../../core/printable.ts';
import type { Style } from '../../output/style.ts';
import { renderTable, wrap } from '../../output/table.ts';
import type { CopiesReport } from './list-copies.ts';

interface Look {
  readonly style: Style;
  readonly columns: number;
}

/** Renders the copies at an address for the terminal. */
export function renderCopies(report: CopiesReport, { style, columns }: Look, nowMs: number): readonly string[] {
  const { url, copies, broken, run, problem, level } = report;
  const lines = [`${style.bold(printable(url))} · ${copies.length} ${copies.length === 1 ? 'copy' : 'copies'} · ${level}`];
  if (copies.length > 0) {
    const titles = [['  STATE'], ['STEP', 'right'], ['ATTEMPT', 'right'], ['AGE', 'right'], ['SIZE', 'right'], ['COPY']] as const;
    const header = titles.map(([title, align]) => ({ title: style.dim(title), align: align ?? 'left' }) as const);
    lines.push(
      '',
      ...renderTable(
        header,
        copies.map((copy) => row(copy, { run, style, nowMs })),
      ),
      '',
    );
  }
  for (const { copy, reason } of copies) if (reason !== null) lines.push(...wrap(`✗ ${printable(copy)}: ${printable(reason)}`, columns));
  for (const { name, reason, code } of broken) lines.push(...wrap(`✗ ${printable(name)}: ${printable(reason)} [${code}]`, columns));
  if (problem !== null) lines.push(...wrap(style.red(printable(problem)), columns));
  const newest = copies.find(({ isNewest }) => isNewest);
  if (newest !== undefined) lines.push(`holdfast fetch brings ${style.bold(printable(newest.copy))}.`);
  else if (copies.length + broken.length === 0) lines.push('No copies are here.');
  else lines.push(style.red('No copy here is good to resume from.'));
  return lines;
}

function row(
  copy: CopiesReport['copies'][number],
  { run, style, nowMs }: { readonly run: string | null; readonly style: Style; readonly nowMs: number },
): readonly string[] {
  const marks = [
    copy.isNewest ? style.green('← newest') : '',
    copy.isPointed && !copy.isNewest ? 'pointer' : '',
    copy.isRolledBack ? style.dim('rolled back') : '',
    run !== null && copy.run !== run ? style.dim('of another run') : '',
  ];
  return [
    `${copy.isNewest ? style.green('▸') : ' '} ${copy.state === 'whole' ? copy.state : style.red(copy.state)}`,
    String(copy.step),
    String(copy.attempt),
    formatDuration(Math.max(1000, Math.round((nowMs - Date.parse(copy.sealedAt)) / 1000) * 1000)),
    formatBytes(copy.bytes),
    [printable(copy.copy), ...marks.filter((mark) => mark !== '')].join('  '),
  ];
}
