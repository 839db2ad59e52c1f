import { excerpt } from './printable.ts';
import { type Parsed, parsed, refused } from './parsed.ts';

declare const unit: unique symbol;

/** A size or an offset in bytes; only {@link parseBytes} makes one. */
export type Bytes = number & { readonly [unit]: 'bytes' };

/** The factor of each unit. `Ki`, `Mi`, … are the Kubernetes spelling of `KiB`, `MiB`, …. */
const FACTORS: ReadonlyMap<string, number> = new Map([
  ['B', 1],
  ['kB', 1e3],
  ['KB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
  ['TB', 1e12],
  ['PB', 1e15],
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
  ['TiB', 2 ** 40],
  ['PiB', 2 ** 50],
  ['Ki', 2 ** 10],
  ['Mi', 2 ** 20],
  ['Gi', 2 ** 30],
  ['Ti', 2 ** 40],
  ['Pi', 2 ** 50],
]);

const RULE = 'a size is a number with a unit: B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024)';

function bytes(count: number): Bytes {
  return count as Bytes;
}

/** Reads a size such as `8MiB`, `500MB`, `1.5 GiB` or `16Gi`. Refuses a number without a unit. */
export function parseBytes(text: string): Parsed<Bytes> {
  const match = /^(\d+(?:\.\d+)?) ?([A-Za-z]*)$/.exec(text.trim());
  if (match === null) return refused(`"${excerpt(text, 40)}" is not a size: ${RULE}`);
  const [, amount = '', suffix = ''] = match;
  if (suffix === '') return refused(`"${amount}" has no unit: ${RULE}`);
  const factor = FACTORS.get(suffix);
  if (factor === undefined) return refused(`"${suffix}" is not a unit of size${nearest(suffix)}: ${RULE}`);
  const count = Math.round(Number(amount) * factor);
  if (!Number.isSafeInteger(count)) return refused(`"${excerpt(text, 40)}" is too large: at most ${formatBytes(Number.MAX_SAFE_INTEGER)}`);
  return parsed(bytes(count));
}

/** The two readings of a letter such as `M` or `mb`, so that the user chooses one. */
function nearest(suffix: string): string {
  const letter = suffix.charAt(0).toUpperCase();
  if (!'KMGTP'.includes(letter)) return '';
  return ` (${letter === 'K' ? 'k' : letter}B or ${letter}iB?)`;
}

const STEPS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** A size for people, with about three digits: `0 B`, `1023 B`, `8 MiB`, `1.5 GiB`. */
export function formatBytes(count: number): string {
  if (count < 1024) return `${Math.round(count)} B`;
  let value = count;
  let step = -1;
  while (value >= 1023.5 && step < STEPS.length - 1) {
    value /= 1024;
    step++;
  }
  const digits = value < 10 ? 2 : value < 100 ? 1 : 0;
  return `${Number(value.toFixed(digits))} ${STEPS[step] ?? 'B'}`;
}
