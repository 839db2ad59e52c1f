import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const OLDEST_MINOR = 9;

/** The Python on the PATH, and the oldest and newest supported ones that pyenv has. */
export function supportedPythons(): readonly string[] {
  const versions = join(process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv'), 'versions');
  const found = existsSync(versions) ? readdirSync(versions) : [];
  const supported = found
    .map((name) => ({ name, minor: Number(/^3\.(\d+)\./.exec(name)?.[1] ?? -1) }))
    .filter(({ minor }) => minor >= OLDEST_MINOR)
    .sort((a, b) => a.minor - b.minor)
    .map(({ name }) => join(versions, name, 'bin/python'));
  return [...new Set(['python3', ...supported.slice(0, 1), ...supported.slice(-1)])];
}
