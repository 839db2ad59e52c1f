import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wrap } from '../../../src/cli/output/table.ts';
import { ROOT } from '../run-process.ts';
import { type Cell, KINDS, LEFT_OUT, MANNERS, WRAPPERS } from './cells.ts';
import { NOTICES } from './notices.ts';
import type { Played } from './play.ts';

/** Markdown wraps here. */
const COLUMNS = 100;
const PAGE = join(ROOT, 'docs/proofs/run-matrix.md');

/** A run that ended as the contract says. */
export interface Row {
  readonly cell: Cell;
  readonly played: Played;
}

/**
 * If asked to, and if no run is missing, replaces the table between the page's marks of this name.
 */
export function writeWhenAsked(name: 'own' | 'torchrun', rows: readonly Row[], cells: readonly Cell[]): void {
  if (process.env['UPDATE_DOCS'] !== '1' || rows.length !== cells.length) return;
  const page = between(readFileSync(PAGE, 'utf8'), 'rules', rules());
  writeFileSync(PAGE, between(page, name, table(cells.flatMap((cell) => rows.filter((row) => row.cell === cell)))));
}

function between(page: string, name: string, text: string): string {
  const [BEGIN, END] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${PAGE} lacks the marks ${BEGIN} and ${END}`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${page.slice(end)}`;
}

function rules(): string {
  const ends = LEFT_OUT.map((_, index) => (index === LEFT_OUT.length - 1 ? '.' : ';'));
  return LEFT_OUT.map(({ because }, index) => `- ${wrap(`${because}${ends[index]}`, COLUMNS - 2).join('\n  ')}`).join('\n');
}

/** Runs with equal results share a line. */
function table(rows: readonly Row[]): string {
  const alike = Map.groupBy(rows, ({ cell, played }) => JSON.stringify([cell.wrapper, cell.manner, cell.kind, ...cellsOf(played)]));
  const order = Object.keys(MANNERS);
  const lines = [...alike.values()].toSorted(([a], [b]) => order.indexOf(a?.cell.manner ?? '') - order.indexOf(b?.cell.manner ?? ''));
  return [
    `${rows.length} runs.`,
    '',
    '| trainer | SDK | behind | notice | exit code | its own end | flush | last good step |',
    '|---|---|---|---|---:|---|---|---|',
    ...lines.map(line),
  ].join('\n');
}

function line(alike: readonly Row[]): string {
  const [first] = alike;
  if (first === undefined) return '';
  const { wrapper, manner, kind } = first.cell;
  const ends = [...new Set(alike.map(({ played }) => played.trainer ?? 'unknown'))].join(' or ');
  const [exitCode, flush, sealed] = cellsOf(first.played);
  return `| ${[MANNERS[manner], KINDS[kind], WRAPPERS[wrapper], noticesOf(alike), exitCode, ends, flush, sealed].join(' | ')} |`;
}

function noticesOf(alike: readonly Row[]): string {
  const names = new Map<string, Set<boolean>>();
  for (const { cell } of alike) {
    const label = cell.notice === 'none' ? 'none' : NOTICES[cell.notice].label;
    names.set(label, (names.get(label) ?? new Set()).add(cell.isFirst));
  }
  return [...names]
    .map(([label, firsts]) => (firsts.has(false) ? `${label}${firsts.has(true) ? ' (as PID 1 and not)' : ' (not as PID 1)'}` : label))
    .join(', ');
}

function cellsOf({ exitCode, flush, sealed, lastGoodStep, next }: Played): readonly [number, string, string] {
  const good = { none: 'none', earlier: `${lastGoodStep}, from before`, later: 'from after the notice' }[sealed];
  return [exitCode, flush ?? 'none', next === null ? good : `${good}; the next container resumes at step ${next}`];
}
