/** Longest path of a file in a manifest; Linux allows no more for a whole path. */
const MAX_PATH = 4096;
const MAX_NAME = 255;

/**
 * The reason why this is not the path of a file below a folder, or null if it is one: names joined
 * by `/`, none of them empty, `.` or `..`, no NUL. Such a path cannot leave the folder by itself;
 * the caller must handle links.
 */
export function pathProblem(path: string): string | null {
  if (path === '') return 'is empty';
  if (path.length > MAX_PATH) return `is longer than ${MAX_PATH} characters`;
  if (path.startsWith('/')) return 'is absolute';
  if (path.includes('\0')) return 'contains a NUL';
  for (const name of path.split('/')) {
    if (name === '') return 'has an empty name in it';
    if (name === '.' || name === '..') return `has "${name}" in it`;
    if (Buffer.byteLength(name) > MAX_NAME) return `has a name longer than ${MAX_NAME} bytes in it`;
  }
  return null;
}

/**
 * The reason why this is not a plain name for an id, a folder or a checkpoint, or null if it is
 * one.
 */
export function nameProblem(name: string): string | null {
  const problem = pathProblem(name);
  if (problem !== null) return problem;
  return name.includes('/') ? 'has a / in it' : null;
}
