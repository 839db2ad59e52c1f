const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Distances between ticks that people count in. */
const STEPS = [
  1000,
  2000,
  5000,
  10_000,
  15_000,
  30_000,
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 28, 91, 365].map((days) => days * DAY),
] as const;

/** How far the local time is ahead of UTC at an instant. */
export type UtcOffset = (ms: number) => number;

/** The offset of the machine, the same as in `date`. */
export function localOffset(ms: number): number {
  return -new Date(ms).getTimezoneOffset() * MINUTE;
}

/** A span of time laid over a number of columns. */
export interface TimeAxis {
  readonly startMs: number;
  readonly endMs: number;
  readonly columns: number;
  /** The column of an instant, from 0. */
  columnOf(ms: number): number;
}

/** Lays a span of time over a number of columns. */
export function timeAxis(startMs: number, endMs: number, columns: number): TimeAxis {
  const span = Math.max(1, endMs - startMs);
  const columnOf = (ms: number): number => Math.min(columns - 1, Math.max(0, Math.round(((ms - startMs) / span) * (columns - 1))));
  return { startMs, endMs, columns, columnOf };
}

/** The line of ticks above the lanes: `╷09:00      ╷09:30`. */
export function axisLine(axis: TimeAxis, offset: UtcOffset): string {
  const { startMs, endMs, columns } = axis;
  const span = Math.max(1, endMs - startMs);
  const wanted = (span / columns) * 12;
  const step = STEPS.find((size) => size >= wanted) ?? wanted;
  let line = '';
  const shift = offset(startMs);
  for (let tick = Math.ceil((startMs + shift) / step) * step - shift; tick <= endMs; tick += step) {
    const column = axis.columnOf(tick);
    const label = `╷${tickLabel(tick, step, offset)}`;
    if (column < line.length + (line === '' ? 0 : 1) || column + label.length > columns) continue;
    line += ' '.repeat(column - line.length) + label;
  }
  return line;
}

function tickLabel(ms: number, step: number, offset: UtcOffset): string {
  const text = inRange(ms, offset);
  if (step >= DAY || (step >= HOUR && text.slice(11, 16) === '00:00')) return dayOf(text);
  return step < MINUTE ? text.slice(11, 19) : text.slice(11, 16);
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;

/** `09:42:03`. */
export function timeOf(ms: number, offset: UtcOffset): string {
  return inRange(ms, offset).slice(11, 19);
}

/** `15 Nov`. */
export function dateOf(ms: number, offset: UtcOffset): string {
  return dayOf(inRange(ms, offset));
}

function dayOf(iso: string): string {
  return `${Number(iso.slice(8, 10))} ${MONTHS[Number(iso.slice(5, 7)) - 1] ?? ''}`;
}

/** Instants at the edge of a date's range have no local time. */
function inRange(ms: number, offset: UtcOffset): string {
  const date = new Date(ms + offset(ms));
  return (Number.isNaN(date.getTime()) ? new Date(ms) : date).toISOString().slice(-24);
}
