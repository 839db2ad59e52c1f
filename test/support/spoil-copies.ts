import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The keys of all objects in a folder of copies, sorted. */
export function keysIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
}

/** What can have happened to one object; `other` is another object, `run` the id of the run. */
export const SPOILS: Readonly<Record<string, (path: string, other: string, run: string) => void>> = {
  missing: (path) => rmSync(path),
  empty: (path) => writeFileSync(path, ''),
  foreign(path, _, run) {
    const text = readFileSync(path, 'latin1');
    const named = text.replaceAll(run, 'f'.repeat(run.length));
    writeFileSync(path, named === text ? `?${text.slice(1)}` : named, 'latin1');
  },
  truncated: (path) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  swapped(path, other) {
    renameSync(path, `${path}.moved`);
    renameSync(other, path);
    renameSync(`${path}.moved`, other);
  },
  'a folder'(path) {
    rmSync(path);
    mkdirSync(join(path, 'inside'), { recursive: true });
  },
  huge: (path) => truncateSync(path, 2 ** 40),
};
