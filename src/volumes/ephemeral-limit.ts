import { lstatSync, opendirSync } from 'node:fs';
import { join } from 'node:path';
import { parseBytes } from '../core/bytes.ts';
import { HoldfastError, systemCode } from '../core/errors.ts';
import { LIMITS } from '../core/hostile-limits.ts';
import { excerpt, printable } from '../core/printable.ts';
import { type Parsed, parsed, refused } from '../core/parsed.ts';
import { readRegularFile, whyUnreadable } from '../core/read-regular.ts';

/**
 * The source of the pod's limit: the downward API sets the first variable, or writes a file whose
 * path is in the second one.
 */
const VARIABLE = 'HOLDFAST_EPHEMERAL_LIMIT';
const FILE_VARIABLE = 'HOLDFAST_EPHEMERAL_LIMIT_FILE';

type Environment = Readonly<Record<string, string | undefined>>;

/** The pod's ephemeral-storage limit in bytes from the environment; null without one. */
export function ephemeralLimit(env: Environment): number | null {
  const [name, text] = [VARIABLE, env[VARIABLE]];
  if (text !== undefined && text !== '') return limitOf(name, text);
  const file = env[FILE_VARIABLE];
  return file === undefined || file === '' ? null : limitOf(`${FILE_VARIABLE} (${printable(file)})`, readSetting(file));
}

/** The text from the downward API under this name. */
export function limitOf(name: string, text: string): number {
  const limit = parseQuantity(text);
  if (limit.ok) return limit.value;
  throw new HoldfastError('SETTING_INVALID', { message: `${name}: ${limit.reason}`, hint: 'The downward API gives the number of bytes.' });
}

function readSetting(file: string): string {
  try {
    return readRegularFile(file, LIMITS.settingsBytes).toString('utf8');
  } catch (thrown) {
    throw new HoldfastError('SETTING_INVALID', {
      message: `${FILE_VARIABLE} names ${printable(file)}, which cannot be read: ${whyUnreadable(thrown)}`,
      hint: 'Mount the downward API volume there, or unset the variable.',
      cause: thrown,
    });
  }
}

const DECIMAL_SUFFIX: ReadonlyMap<string, string> = new Map([
  ['k', 'kB'],
  ['M', 'MB'],
  ['G', 'GB'],
  ['T', 'TB'],
]);

/** A quantity as Kubernetes writes it: `10737418240`, `10Gi`, `10G`. */
export function parseQuantity(text: string): Parsed<number> {
  const match = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text.trim());
  if (match === null) return refused(`"${excerpt(text, 40)}" is not a quantity: bytes, or a number with Ki, Mi, Gi, Ti, k, M, G or T`);
  const [, amount = '', suffix = ''] = match;
  if (suffix !== '') return parseBytes(amount + (DECIMAL_SUFFIX.get(suffix) ?? suffix));
  const bytes = Number(amount);
  return Number.isSafeInteger(bytes) ? parsed(bytes) : refused(`"${excerpt(text, 40)}" is not a whole number of bytes`);
}

/** The count of a folder is bounded: it decides about a save and must not take longer than one. */
const MOST_ENTRIES = 100_000;

/**
 * Bytes of the files below a folder on its disk, without links and other file systems. A lower
 * bound for huge trees.
 */
export function bytesBelow(folder: string): number {
  const { dev } = lstatSync(folder);
  const folders = [folder];
  let [bytes, entries] = [0, 0];
  for (let next = folders.pop(); next !== undefined && entries < MOST_ENTRIES; next = folders.pop()) {
    for (const name of namesIn(next)) {
      const path = join(next, name);
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (stats === undefined || stats.dev !== dev) continue;
      bytes += stats.blocks * 512;
      if (stats.isDirectory()) folders.push(path);
      if (++entries >= MOST_ENTRIES) break;
    }
  }
  return bytes;
}

/** The readable entries; a forbidden or vanished folder counts as empty. */
function namesIn(folder: string): string[] {
  const names: string[] = [];
  try {
    const listing = opendirSync(folder);
    try {
      for (let entry = listing.readSync(); entry !== null && names.length < MOST_ENTRIES; entry = listing.readSync())
        names.push(entry.name);
    } finally {
      listing.closeSync();
    }
  } catch (thrown) {
    if (systemCode(thrown) === null) throw thrown;
  }
  return names;
}
