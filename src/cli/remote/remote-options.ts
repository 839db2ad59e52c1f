import { parseBytes } from '../../core/bytes.ts';
import { type Parsed, refused } from '../../core/parsed.ts';
import type { OptionTable, OptionValues } from '../frame/command.ts';
import { someText, wholeNumber } from '../frame/option-values.ts';

/** Parses a rate such as `500MiB/s`. */
export function parseRate(text: string): Parsed<number> {
  const size = /^(.*?) ?\/ ?s$/.exec(text.trim());
  if (size === null) return refused(`"${text.slice(0, 40)}" is not a rate: write a size per second, such as 500MiB/s`);
  const bytes = parseBytes(size[1] ?? '');
  return bytes.ok && bytes.value < LOWEST_RATE ? refused(`${text.slice(0, 40)} is too low: give at least 16KiB/s`) : bytes;
}

const LOWEST_RATE = 16 * 1024;
const MOST_PARALLEL = 48;

function parseParallel(text: string): Parsed<number> {
  const count = wholeNumber('a number of transfers', 1)(text);
  return count.ok && count.value > MOST_PARALLEL ? refused(`${count.value} is too many: give at most ${MOST_PARALLEL}`) : count;
}

/** The options that say how to reach an object store. */
export const PLACE_OPTIONS = {
  endpoint: {
    kind: 'value',
    value: 'ADDRESS',
    parse: someText('the endpoint'),
    description: 'The address of your own object store, such as https://minio:9000',
  },
  region: {
    kind: 'value',
    value: 'REGION',
    parse: someText('the region'),
    description: 'The region of an S3 bucket, if Holdfast cannot find it',
  },
  profile: { kind: 'value', value: 'NAME', parse: someText('the profile'), description: 'The profile to use from the shared AWS files' },
  'path-style': { kind: 'flag', description: 'Put the bucket into the path instead of the host name' },
} as const satisfies OptionTable;

/** The options of every command that moves data to or from an object store. */
export const REMOTE_OPTIONS = {
  limit: { kind: 'value', value: 'RATE', parse: parseRate, description: 'The highest transfer rate, such as 500MiB/s' },
  parallel: { kind: 'value', value: 'N', parse: parseParallel, default: '8', description: 'How many transfers run at the same time' },
  ...PLACE_OPTIONS,
} as const satisfies OptionTable;

/** The values of {@link PLACE_OPTIONS}. */
export type PlaceValues = OptionValues<typeof PLACE_OPTIONS>;

/** The values of {@link REMOTE_OPTIONS}. */
export type RemoteValues = OptionValues<typeof REMOTE_OPTIONS>;
