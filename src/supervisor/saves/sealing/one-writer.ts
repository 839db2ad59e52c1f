import { join } from 'node:path';
import { parseJson } from '../../../core/json.ts';
import type { DurableFs } from '../../../store/disk/durable-fs.ts';
import { pathProblem } from '../../../seal/relative-path.ts';
import { isCode, isNotOurs } from '../../../store/disk/store-error.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { excerpt } from '../../../core/printable.ts';

/** The file in which a rank lists what it wrote, beside the folder that all ranks write into. */
export function namesOf(folder: string, rank: number): string {
  return join(folder, `names-${rank}.json`);
}

const NAMES = /^names-(?<rank>\d{1,7})\.json$/;

/** What the ranks have handed over. */
export interface Handed {
  /** The folder of the lists. */
  readonly folder: string;
  /** The folder of the ranks' files. */
  readonly data: string;
}

/**
 * Throws SAVE_MIXED when two ranks list the same file. Such a file mixes the bytes of both, or
 * holds those of one rank alone, and still loads without an error. A listed file that is gone was
 * temporary, and an empty one has nothing to mix.
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

/** Reads the list as hostile input; a file that is not a list of names counts as empty. */
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
    message: `${excerpt(name)} was written by rank ${first} and by rank ${second}, and holds the bytes of one of them or a mixture. Give every rank names of its own, as in f"state-{rank}.pt", or let one of them write what all hold alike`,
    hint: 'Earlier checkpoints are unchanged.',
  });
}
