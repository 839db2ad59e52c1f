import { excerpt } from '../../../core/printable.ts';
import type { Cell, NodeDrawing } from '../../../whatif/drawing/draw-nodes.ts';
import type { Output } from '../../output/output.ts';
import { displayWidth } from '../../output/width.ts';

type Look = Pick<Output, 'style' | 'columns'>;

/** Each differs by its shape, so that a drawing without colours says the same. */
const SIGNS: Readonly<Record<Cell, string>> = { used: '■', stopped: '◧', evicted: '✕', new: '◆', free: '·' };
const WORDS: Readonly<Record<Cell, string>> = {
  used: 'in use',
  stopped: 'its gang stops',
  evicted: 'evicted',
  new: 'new',
  free: 'free',
};
const MOST_NODES = 24;
const LONGEST_NAME = 32;

/** The nodes where something changes, with a sign for each accelerator, before and after. */
export function renderNodes(nodes: readonly NodeDrawing[], { style, columns }: Look): readonly string[] {
  const drawn = nodes.filter(({ now, afterwards }) => now.length + afterwards.length > 0).slice(0, MOST_NODES);
  if (drawn.length === 0) return [];
  const names = drawn.map(({ node }) => excerpt(node, LONGEST_NAME));
  const nameWidth = Math.max(4, ...names.map(displayWidth));
  const cells = Math.max(3, Math.floor((columns - nameWidth - 8) / 2));
  const nowWidth = Math.min(cells, Math.max(3, ...drawn.map(({ now }) => now.length)));
  const used = new Set(drawn.flatMap(({ now, afterwards }) => [...now, ...afterwards]));
  const left = nodes.length - drawn.length;
  return [
    style.bold(`  ${'NODE'.padEnd(nameWidth)}  ${'NOW'.padEnd(nowWidth)}    THEN`),
    ...drawn.map(({ now, afterwards }, index) => {
      const name = names[index] ?? '';
      const row = paint(now, cells, style) + ' '.repeat(Math.max(0, nowWidth - Math.min(now.length, cells)));
      return `  ${name}${' '.repeat(nameWidth - displayWidth(name))}  ${row}    ${afterwards.length === 0 ? style.dim('gone') : paint(afterwards, cells, style)}`;
    }),
    ...(left > 0 ? [style.dim(`  and ${left} more ${left === 1 ? 'node' : 'nodes'}; --json has all`)] : []),
    style.dim(
      `  ${(Object.keys(SIGNS) as Cell[])
        .filter((cell) => used.has(cell))
        .map((cell) => `${SIGNS[cell]} ${WORDS[cell]}`)
        .join('   ')}`,
    ),
  ];
}

function paint(cells: readonly Cell[], most: number, style: Output['style']): string {
  const colours: Readonly<Record<Cell, (text: string) => string>> = {
    used: (text) => text,
    stopped: style.yellow,
    evicted: style.red,
    new: style.green,
    free: style.dim,
  };
  const shown = cells.length > most ? cells.slice(0, most - 1) : cells;
  return shown.map((cell) => colours[cell](SIGNS[cell])).join('') + (shown.length < cells.length ? '…' : '');
}
