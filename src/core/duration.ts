import { excerpt } from './printable.ts';
import { type Parsed, parsed, refused } from './parsed.ts';

declare const unit: unique symbol;

/** A length of time in milliseconds; {@link parseDuration} and clocks ({@link millis}) make it. */
export type Millis = number & { readonly [unit]: 'ms' };

/** Largest first: the order in which the parts of `1d2h3m4s5ms` must stand. */
const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];

const RULE = 'a duration is numbers with units, largest first: 500ms, 30s, 5m, 1h30m, 2d';
const PART = /(\d+(?:\.\d+)?) ?([A-Za-z]*) ?/y;

/** A number of milliseconds as a {@link Millis}. */
export function millis(count: number): Millis {
  return count as Millis;
}

/** Reads a duration such as `30s`, `1h30m`, `1.5h` or `500ms`. Refuses a number without a unit. */
export function parseDuration(text: string): Parsed<Millis> {
  const trimmed = text.trim();
  let total = 0;
  let smallest = -1;
  PART.lastIndex = 0;
  while (PART.lastIndex < trimmed.length) {
    const match = PART.exec(trimmed);
    if (match === null) return notADuration(text);
    const [, amount = '', name = ''] = match;
    if (name === '') return refused(`"${excerpt(text, 40)}" has a number without a unit (${amount}): ${RULE}`);
    const index = UNITS.findIndex(([spelling]) => spelling === name);
    if (index < 0) return refused(`"${excerpt(name, 20)}" is not a unit of time (d, h, m, s, ms): ${RULE}`);
    if (index <= smallest) return refused(`the units of "${excerpt(text, 40)}" are out of order or repeated: ${RULE}`);
    smallest = index;
    total += Number(amount) * (UNITS[index]?.[1] ?? 0);
  }
  if (smallest < 0) return notADuration(text);
  const rounded = Math.round(total);
  return Number.isSafeInteger(rounded) ? parsed(millis(rounded)) : refused(`"${excerpt(text, 40)}" is too long`);
}

function notADuration(text: string): Parsed<never> {
  return refused(`"${excerpt(text, 40)}" is not a duration: ${RULE}`);
}

/**
 * A duration for people, in its two largest units: `0ms`, `850ms`, `3.2s`, `1m 30s`, `2h 5m`, `3d
 * 4h`.
 */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)}ms`;
  if (ms < 59_950) return `${Number((ms / 1000).toFixed(1))}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return pair(Math.floor(seconds / 60), 'm', seconds % 60, 's');
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'm');
  const hours = Math.round(minutes / 60);
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit} ${small}${smallUnit}`;
}
