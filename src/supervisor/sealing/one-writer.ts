import { join } from 'node:path';
import { parseJson } from '../../checkpoint/json.ts';
import type { DurableFs } from '../../checkpoint/store/durable-fs.ts';
import { pathProblem } from '../../checkpoint/store/relative-path.ts';
import { isCode, isNotOurs } from '../../checkpoint/store/store-error.ts';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';

/** Where a rank leaves the names of what it has written, beside the folder that all of them write into. */
export function namesOf(folder: string, rank: number): string {
  return join(folder, `names-${rank}.json`);
}

const NAMES = /^names-(?<rank>\d{1,7})\.json$/;

export interface Handed {
  /** Where the ranks have left their names. */
  readonly folder: string;
  /** Where their files lie. */
  readonly data: string;
}

/**
 * Throws SAVE_MIXED where two ranks say that they have made the same file: it is a mixture of both, or what one of them wrote alone, and loads
 * without an error. One that is not there any more was a temporary name, and one that is empty holds nothing that could be mixed.
 */
export function assertOneWriterEach(fs: DurableFs, { folder, data }: Handed): void {
  const writers = new Map<string, number>();
  for (const file of fs.list(folder)) {
    const rank = Number(NAMES.exec(file)?.groups?.['rank'] ?? Number.NaN);
    if (Number.isNaN(rank)) continue;
    for (const name of readNames(fs, join(folder, file))) {
      const other = writers.get(name);
      if (other === undefined) writers.set(name, rank);
      else if (other !== rank && holdsSomething(fs, join(data, name))) throw mixed(name, other, rank);
    }
  }
}

/** What a stranger may have left there; nothing where it is no list of names. */
function readNames(fs: DurableFs, file: string): readonly string[] {
  try {
    const json = parseJson(fs.readFile(file).toString('utf8'));
    if (!json.ok || !Array.isArray(json.value)) return [];
    return json.value.filter((name) => typeof name === 'string').filter((name) => pathProblem(name) === null);
  } catch (thrown) {
    if (isNotOurs(thrown) || isCode(thrown, 'ENOENT')) return [];
    throw thrown;
  }
}

function holdsSomething(fs: DurableFs, path: string): boolean {
  try {
    const stat = fs.stat(path);
    return stat?.kind === 'file' && stat.size > 0;
  } catch (thrown) {
    if (isCode(thrown, 'ENOTDIR', 'ENAMETOOLONG')) return false;
    throw thrown;
  }
}

function mixed(name: string, first: number, second: number): HoldfastError {
  return new HoldfastError('SAVE_MIXED', {
    message: `${excerpt(name)} was written by rank ${first} and by rank ${second}, and holds what one of them wrote, or a mixture. Give every rank names of its own, as in f"state-{rank}.pt", or let one of them write what all hold alike`,
    hint: 'Every earlier checkpoint is as it was.',
  });
}
