import { parseBytes } from '../../core/bytes.ts';
import { type Parsed, refused } from '../../core/parsed.ts';
import type { OptionTable, OptionValues } from '../command.ts';
import { someText, wholeNumber } from '../option-values.ts';

/** Reads `500MiB/s`. */
export function parseRate(text: string): Parsed<number> {
  const size = /^(.*?) ?\/ ?s$/.exec(text.trim());
  if (size === null) return refused(`"${text.slice(0, 40)}" is not a rate: a size for each second, such as 500MiB/s`);
  const bytes = parseBytes(size[1] ?? '');
  return bytes.ok && bytes.value < LOWEST_RATE ? refused(`${text.slice(0, 40)} is too little: at least 16KiB/s`) : bytes;
}

const LOWEST_RATE = 16 * 1024;
const MOST_PARALLEL = 48;

function parseParallel(text: string): Parsed<number> {
  const count = wholeNumber('a number of transfers', 1)(text);
  return count.ok && count.value > MOST_PARALLEL ? refused(`${count.value} is too many: at most ${MOST_PARALLEL}`) : count;
}

/** Options of every command that speaks to an object store. */
export const REMOTE_OPTIONS = {
  limit: { kind: 'value', value: 'RATE', parse: parseRate, description: 'Most bytes a second, such as 500MiB/s' },
  parallel: { kind: 'value', value: 'N', parse: parseParallel, default: '8', description: 'Transfers at a time' },
  endpoint: {
    kind: 'value',
    value: 'ADDRESS',
    parse: someText('the endpoint'),
    description: 'A store of your own instead of the cloud’s, such as https://minio:9000',
  },
  region: {
    kind: 'value',
    value: 'REGION',
    parse: someText('the region'),
    description: 'The region of an S3 bucket, where it is not found by itself',
  },
  profile: { kind: 'value', value: 'NAME', parse: someText('the profile'), description: 'The profile in the shared AWS files' },
  'path-style': { kind: 'flag', description: 'Put the bucket into the path and not into the name of the host' },
} as const satisfies OptionTable;

export type RemoteValues = OptionValues<typeof REMOTE_OPTIONS>;
