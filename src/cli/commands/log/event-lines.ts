import { formatBytes } from '../../../core/bytes.ts';
import { formatDuration } from '../../../core/duration.ts';
import { excerpt } from '../../../core/printable.ts';
import type { EventOf, Recorded } from '../../../ledger/events.ts';
import type { Style } from '../../output/style.ts';
import { wrap } from '../../output/table.ts';
import { type Described, describeEvent } from './describe-event.ts';
import { timeOf, type UtcOffset } from './time-axis.ts';

/** How the lines of events look. */
export interface Look {
  readonly style: Style;
  readonly columns: number;
  readonly offset: UtcOffset;
  /** Shows every save and every line of progress, instead of one line for a row of saves. */
  readonly isAll: boolean;
  /**
   * The nodes of the attempt, the leading one first. A line names its nodes, unless it comes from
   * all of them or from the first alone.
   */
  readonly nodes: readonly string[];
}

interface Row extends Described {
  readonly atMs: number;
  readonly nodes: readonly string[];
}

const LABEL_COLUMNS = 10;

/** The events of one attempt as lines. */
export function eventLines(events: readonly Recorded[], look: Look): readonly string[] {
  const rows = look.isAll ? events.map(rowOf) : together(summarised(events));
  return rows.flatMap((row) => rowLines(row, look));
}

/** One new event as lines. */
export function eventLine(recorded: Recorded, look: Look): readonly string[] {
  return rowLines(rowOf(recorded), look);
}

function rowOf(recorded: Recorded): Row {
  return { ...describeEvent(recorded), atMs: recorded.atMs, nodes: [recorded.node] };
}

function rowLines({ atMs, nodes, label, text, paint }: Row, { style, columns, offset, nodes: all }: Look): readonly string[] {
  const isPlain = nodes.length === all.length || (nodes.length === 1 && nodes[0] === all[0]);
  const from = isPlain ? '' : ` [${someNodes(nodes)}]`;
  const indent = 2 + 8 + 2 + LABEL_COLUMNS + 1;
  const [first = '', ...more] = wrap(`${text}${from}`, Math.max(30, columns - indent));
  const name = label.slice(0, LABEL_COLUMNS).padEnd(LABEL_COLUMNS);
  return [
    `  ${style.dim(timeOf(atMs, offset))}  ${paint === null ? name : style[paint](name)} ${first}`.trimEnd(),
    ...more.map((line) => ' '.repeat(indent) + line),
  ];
}

/**
 * Summarises the events for people: a row of good saves is one line, and starts of saves are left
 * out. Of the progress only the newest line is shown, and only at the end.
 */
function summarised(events: readonly Recorded[]): readonly Row[] {
  const rows: Row[] = [];
  let saves: Recorded<EventOf<'save-ended'>>[] = [];
  let ships: Recorded<EventOf<'shipped'>>[] = [];
  const endRow = (): void => {
    if (saves.length > 0) rows.push(savesRow(saves));
    if (ships.length > 0) rows.push(shipsRow(ships));
    [saves, ships] = [[], []];
  };
  let newest: Recorded | null = null;
  let decided = '';
  for (const recorded of events) {
    const { event } = recorded;
    newest = event.kind === 'progress' ? recorded : BESIDE.has(event.kind) ? newest : null;
    if (LEFT_OUT.has(event.kind) || isRepeated(event, decided)) continue;
    if (event.kind === 'decision') decided = event.sentence;
    if (event.kind === 'save-ended' && event.outcome === 'sealed') saves.push({ ...recorded, event });
    else if (event.kind === 'shipped') ships.push({ ...recorded, event });
    else {
      endRow();
      rows.push(rowOf(recorded));
    }
  }
  endRow();
  if (newest !== null) rows.push(rowOf(newest));
  return rows;
}

const LEFT_OUT: ReadonlySet<string> = new Set(['progress', 'save-started', 'cadence-planned']);
/** Events beside the training that say nothing about its progress. */
const BESIDE: ReadonlySet<string> = new Set(['save-started', 'save-ended', 'shipped']);

/** Whether the event repeats the decision: a refused flush has the same sentence. */
function isRepeated(event: Recorded['event'], decided: string): boolean {
  return event.kind === 'flush-ended' && event.outcome === 'refused' && event.sentence === decided;
}

/** The first few nodes by name. */
export function someNodes(nodes: readonly string[]): string {
  const named = nodes.slice(0, 4).map((node) => excerpt(node, 30));
  return nodes.length > named.length ? `${named.join(', ')} and ${nodes.length - named.length} more` : named.join(', ');
}

/** How long it takes until every node has recorded the same event. */
const TOGETHER_MS = 5000;

/** Merges equal events that several nodes recorded at about the same time. */
function together(rows: readonly Row[]): readonly Row[] {
  const kept: Row[] = [];
  for (const row of rows) {
    const index = kept.findLastIndex(
      (other) => other.label === row.label && other.text === row.text && row.atMs - other.atMs <= TOGETHER_MS,
    );
    const same = kept[index];
    if (same === undefined || same.nodes.some((node) => row.nodes.includes(node))) kept.push(row);
    else kept[index] = { ...same, nodes: [...same.nodes, ...row.nodes] };
  }
  return kept;
}

/** A row of copies to one place. */
function shipsRow(ships: readonly Recorded<EventOf<'shipped'>>[]): Row {
  const last = ships.at(-1) as Recorded<EventOf<'shipped'>>;
  const row = rowOf(last);
  const [first] = ships as [Recorded<EventOf<'shipped'>>];
  if (ships.length === 1) return row;
  return { ...row, text: `${ships.length} copies, steps ${first.event.step} to ${last.event.step}, to ${excerpt(last.event.url, 80)}` };
}

function savesRow(saves: readonly Recorded<EventOf<'save-ended'>>[]): Row {
  const [first] = saves as [Recorded<EventOf<'save-ended'>>];
  const steps = [...new Set(saves.map(({ event }) => event.step))];
  if (steps.length === 1) return rowOf(first);
  const times = saves.map(({ event }) => event.totalMs).sort((a, b) => a - b);
  const stalls = saves.flatMap(({ event }) => event.stallMs ?? []).sort((a, b) => a - b);
  const middle = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)] ?? 0;
  const { bytes } = saves.at(-1)?.event ?? first.event;
  const parts = [
    `${steps.length} saves, steps ${steps[0]} to ${steps.at(-1)}, ${formatDuration(middle(times))} each (slowest ${formatDuration(times.at(-1) ?? 0)})`,
    ...(bytes === null ? [] : [formatBytes(bytes)]),
    ...(stalls.length === 0 ? [] : [`stall ${formatDuration(middle(stalls))}`]),
  ];
  return { label: 'sealed', text: parts.join(', '), paint: 'green', atMs: first.atMs, nodes: [...new Set(saves.map(({ node }) => node))] };
}
