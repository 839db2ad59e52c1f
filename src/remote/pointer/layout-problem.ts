import { printable } from '../../core/printable.ts';
import type { Manifest } from '../../seal/manifest.ts';
import { MANIFEST_NAME, setOf } from '../../seal/names.ts';
import type { CopyPlace } from './copy-name.ts';
import { copyNameProblem, MAX_ATTEMPT } from './pointer.ts';

/** The longest path that Linux takes. */
const MAX_PATH_BYTES = 4096;
/** The most that the folder of a run and the folder for received files add to a path. */
const ROOM_FOR_FOLDERS = 1024;

/**
 * Says why a copy cannot be put into the folder of a run, or null when it can. The names alone
 * decide, before any download. The reason continues "the manifest of the copy …".
 */
export function layoutProblem({ attempt, files }: Manifest, { name, kind }: CopyPlace): string | null {
  const unfit = copyNameProblem(name);
  if (unfit !== null) return `describes a checkpoint whose name "${printable(name)}" ${unfit}`;
  if (attempt > MAX_ATTEMPT) return `has the attempt number ${attempt}, after which no other could follow`;
  const paths = new Set(files.map(({ path }) => path));
  for (const path of paths) {
    const problem = kind === 'files' ? besideProblem(path, name) : insideProblem(path, paths);
    if (problem !== null) return `names "${printable(path)}", which ${problem}`;
  }
  return null;
}

/** A manifest beside its files may name only files that start with its name. */
function besideProblem(path: string, name: string): string | null {
  const isOwn = !path.includes('/') && !path.startsWith('.') && (path === name || setOf(path) === name);
  return isOwn ? null : 'does not lie beside it';
}

function insideProblem(path: string, paths: ReadonlySet<string>): string | null {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES - ROOM_FOR_FOLDERS) return 'is too long a path';
  for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
    const folder = path.slice(0, end);
    if (folder === MANIFEST_NAME) return 'lies where the manifest does';
    if (paths.has(folder)) return 'lies below another of its files';
  }
  return null;
}
