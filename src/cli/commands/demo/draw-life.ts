import type { Life } from '../../../demo/life.ts';
import { TRAINING } from '../../../demo/scenes.ts';
import type { Style } from '../../output/style.ts';

/** The bar of a life on the axis of steps: its start, its saves and its end. */
export function drawLife(life: Life, columns: number, style: Style): string {
  if (life.from === null) return `${life.code === null ? ' ' : style.red('✕')}${' '.repeat(columns)}`;
  const cellOf = (step: number): number => Math.min(columns - 1, Math.floor((step * columns) / TRAINING.steps));
  const isFinished = life.result !== null;
  const first = cellOf(life.from);
  const last = isFinished ? columns - 1 : Math.max(first, cellOf(life.at));
  const cells: string[] = Array.from({ length: columns + 1 }, (_, cell) => (cell >= first && cell <= last ? '━' : ' '));
  for (const { step, state } of life.saves) cells[cellOf(step)] = state === 'kept' ? style.green('●') : style.yellow('◐');
  if (life.code !== null) cells[last + 1] = isFinished ? '✔' : style.red('✕');
  return cells.join('');
}
