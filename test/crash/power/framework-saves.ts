import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const FRAMEWORK_WRITER = fileURLToPath(new URL('framework_writer.py', import.meta.url));
const SETUP = fileURLToPath(new URL('../../frameworks/setup.sh', import.meta.url));

/** The Python with torch, or the reason why there is none; nothing is installed. */
export function findTorch(): { readonly python: string } | { readonly missing: string } {
  const found = spawnSync('bash', [SETUP, '--find', 'torch'], { encoding: 'utf8' });
  const python = /^torch=(.*)$/m.exec(found.stdout)?.[1];
  return python === undefined ? { missing: 'torch is not installed: test/frameworks/setup.sh torch does it' } : { python };
}

/**
 * What a cut left of one way to save: the newest finished save, only an older one, or no whole
 * save.
 */
export interface Outcomes {
  newest: number;
  older: number;
  nothing: number;
}

interface Note {
  readonly way: string;
  readonly step: number;
  readonly returned: boolean;
  readonly files: Readonly<Record<string, string>>;
}

/** Checks every way to save on the disk after the cut, and counts. */
export function judgeFrameworks(disk: string, journal: string, outcomes: Map<string, Outcomes>): void {
  const notes = journal.split('\n').flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as Note] : []));
  for (const [way, own] of Map.groupBy(notes, (note) => note.way)) {
    const returned = own.filter((note) => note.returned);
    const newest = returned.at(-1)?.step;
    if (newest === undefined) continue;
    const counts = outcomes.get(way) ?? { newest: 0, older: 0, nothing: 0 };
    outcomes.set(way, counts);
    // The latest first: one name can only hold the last bytes, and only the last two folders are
    // kept.
    const whole = own.toReversed().find(({ files }) => isWhole(join(disk, way), files));
    if (whole === undefined) counts.nothing += 1;
    else counts[whole.step >= newest ? 'newest' : 'older'] += 1;
  }
}

function isWhole(folder: string, files: Note['files']): boolean {
  return Object.entries(files).every(([path, digest]) => {
    const file = join(folder, path);
    return existsSync(file) && createHash('sha256').update(readFileSync(file)).digest('hex') === digest;
  });
}
