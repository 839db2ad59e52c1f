import type { Lane, Mark } from '../../../ledger/timeline.ts';
import type { Style } from '../../output/style.ts';
import type { TimeAxis } from './time-axis.ts';

type Paint = keyof Style | null;

/** The marks of a lane, and their meaning in the legend. */
const SIGNS = {
  start: { sign: '├', paint: null, meaning: '' },
  line: { sign: '─', paint: 'dim', meaning: '' },
  sealed: { sign: '●', paint: 'green', meaning: 'sealed' },
  'save-failed': { sign: '○', paint: 'red', meaning: 'not sealed' },
  advice: { sign: '?', paint: 'yellow', meaning: 'advice to save' },
  notice: { sign: '!', paint: 'yellow', meaning: 'notice' },
  flushed: { sign: '◆', paint: 'green', meaning: 'flushed' },
  'not-flushed': { sign: '◇', paint: 'red', meaning: 'no flush' },
  hang: { sign: '~', paint: 'red', meaning: 'hang' },
  finished: { sign: '✔', paint: 'green', meaning: 'finished' },
  interrupted: { sign: '┤', paint: 'yellow', meaning: 'interrupted' },
  failed: { sign: '✗', paint: 'red', meaning: 'failed' },
  silent: { sign: '†', paint: 'red', meaning: 'ended without a word' },
  running: { sign: '▸', paint: 'blue', meaning: 'no end yet' },
} as const satisfies Readonly<Record<string, { readonly sign: string; readonly paint: Paint; readonly meaning: string }>>;

type Sign = keyof typeof SIGNS;

/** The lane of an attempt, as long as the axis up to its end. */
export function drawLane(lane: Lane, axis: TimeAxis, style: Style): { readonly text: string; readonly signs: ReadonlySet<Sign> } {
  const start = axis.columnOf(lane.startedMs);
  const end = Math.max(axis.columnOf(lane.seenMs), Math.min(axis.columns - 1, start + 1));
  const cells = new Map<number, Sign>();
  for (let column = start; column <= end; column++) cells.set(column, 'line');
  cells.set(start, 'start');
  cells.set(end, endSign(lane));
  placeLast(cells, lane.marks, { axis, start, end });
  for (const { atMs, kind } of lane.marks) {
    const column = axis.columnOf(atMs);
    if (!isRare({ kind }) && cells.get(column) === 'line') cells.set(column, kind);
  }
  const signs = new Set(cells.values());
  const text = Array.from({ length: end - start + 1 }, (_, index) => painted(cells.get(start + index) ?? 'line', style)).join('');
  return { text: ' '.repeat(start) + text, signs };
}

/** The legend of the signs in use: `● sealed`, `! notice`. */
export function legend(used: ReadonlySet<Sign>, style: Style): readonly string[] {
  return (Object.keys(SIGNS) as Sign[])
    .filter((sign) => used.has(sign) && SIGNS[sign].meaning !== '')
    .map((sign) => `${painted(sign, style)} ${SIGNS[sign].meaning}`);
}

/**
 * Places rare marks so that all of them are visible, even if several fall into the column of the
 * end. From the end backwards, each mark gets a place before the one after it.
 */
function placeLast(
  cells: Map<number, Sign>,
  marks: readonly Mark[],
  { axis, start, end }: { axis: TimeAxis; start: number; end: number },
): void {
  let next = end;
  const seen = new Set<string>();
  for (const mark of marks.filter(isRare).toReversed()) {
    const column = Math.min(axis.columnOf(mark.atMs), next - 1);
    // Several nodes record the same event, so one sign in one place is enough.
    if (column <= start || seen.has(`${mark.kind}/${axis.columnOf(mark.atMs)}`)) continue;
    seen.add(`${mark.kind}/${axis.columnOf(mark.atMs)}`);
    cells.set(column, mark.kind);
    next = column;
  }
}

function isRare({ kind }: Pick<Mark, 'kind'>): boolean {
  return kind !== 'sealed' && kind !== 'save-failed';
}

function endSign({ end, isFollowed }: Lane): Sign {
  if (end === null) return isFollowed ? 'silent' : 'running';
  return end.end === 'finished' || end.end === 'interrupted' ? end.end : 'failed';
}

function painted(sign: Sign, style: Style): string {
  const { sign: text, paint } = SIGNS[sign];
  return paint === null ? text : style[paint](text);
}
