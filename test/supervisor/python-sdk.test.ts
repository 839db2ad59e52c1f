import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, runProcess } from '../support/run-process.ts';

const PYTHON = join(ROOT, 'python');
const OLDEST_MINOR = 9;

/** The Python of the PATH, and of those that pyenv has the oldest and the newest that is supported. */
function pythons(): readonly string[] {
  const versions = join(process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv'), 'versions');
  const found = existsSync(versions) ? readdirSync(versions) : [];
  const supported = found
    .map((name) => ({ name, minor: Number(/^3\.(\d+)\./.exec(name)?.[1] ?? -1) }))
    .filter(({ minor }) => minor >= OLDEST_MINOR)
    .sort((a, b) => a.minor - b.minor)
    .map(({ name }) => join(versions, name, 'bin/python'));
  return [...new Set(['python3', ...supported.slice(0, 1), ...supported.slice(-1)])];
}

const ENV = { PATH: process.env['PATH'], HOME: homedir(), PYTHONDONTWRITEBYTECODE: '1' };

describe.each(pythons())('the SDK on %s', (python) => {
  it('does what its tests say', async () => {
    const env = { ...ENV, PYTHONPATH: PYTHON };
    const { code, stderr } = await runProcess(python, ['-W', 'ignore', '-m', 'unittest', '-q'], { cwd: join(PYTHON, 'tests'), env });
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  });
});
