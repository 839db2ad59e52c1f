import { displayWidth } from './width.ts';

/** A column of a table. */
export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

const GAP = '  ';

/**
 * Lines of a table in the manner of kubectl: padded columns, no rules. Cells may be coloured and of
 * any script.
 */
export function renderTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const lines = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, column) => lines.reduce((widest, cells) => Math.max(widest, displayWidth(cells[column] ?? '')), 0));
  return lines.map((cells) =>
    columns
      .map(({ align }, column) => pad(cells[column] ?? '', widths[column] ?? 0, align ?? 'left'))
      .join(GAP)
      .trimEnd(),
  );
}

/**
 * Lines of term and text, the texts aligned; for help and lists. The text is wrapped to `columns`.
 */
export function renderList(items: readonly (readonly [term: string, text: string])[], columns: number, indent = '  '): string[] {
  const widest = items.reduce((most, [term]) => Math.max(most, displayWidth(term)), 0);
  const textColumns = Math.max(20, columns - indent.length - widest - GAP.length);
  return items.flatMap(([term, text]) => {
    const [first = '', ...more] = wrap(text, textColumns);
    const hanging = indent + ' '.repeat(widest) + GAP;
    return [`${indent}${pad(term, widest, 'left')}${GAP}${first}`.trimEnd(), ...more.map((line) => hanging + line)];
  });
}

/** The text broken at spaces into lines of at most `columns`; a longer word gets its own line. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && displayWidth(line) + 1 + displayWidth(word) > columns) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  if (line !== '') lines.push(line);
  return lines;
}

function pad(cell: string, width: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, width - displayWidth(cell)));
  return align === 'left' ? cell + space : space + cell;
}
