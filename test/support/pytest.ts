import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT, runProcess } from './run-process.ts';

const SDK = join(ROOT, 'python');

export interface PytestOptions {
  /** The folder of the package under test; null: it is installed. */
  readonly sources: string | null;
  readonly env?: Readonly<Record<string, string>>;
}

export interface PytestResult {
  readonly passed: number;
  /** The reasons of skipped tests, one for each reason and place. */
  readonly skipped: readonly string[];
}

/**
 * Runs all SDK tests with pytest on this Python, and returns what was skipped. On failure it throws
 * with pytest's output.
 */
export async function passPytest(python: string, { sources, env = {} }: PytestOptions): Promise<PytestResult> {
  const path = [await installPytest(python), ...(sources === null ? [] : [sources])].join(':');
  // A wide line fits every reason. From the tests’ own folder, Python finds only the sources that
  // were named.
  const settings = { PATH: process.env['PATH'], HOME: homedir(), COLUMNS: '1000', PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: path, ...env };
  const args = ['-m', 'pytest', '-q', '-rs', '-W', 'ignore', '-p', 'no:cacheprovider', '-o', 'pythonpath=tests'];
  const { code, stdout, stderr } = await runProcess(python, args, { cwd: join(SDK, 'tests'), env: settings });
  expect({ code, said: code === 0 ? '' : `${stdout}${stderr}` }).toEqual({ code: 0, said: '' });
  return {
    passed: Number(/^(\d+) passed/m.exec(stdout)?.[1] ?? 0),
    skipped: [...stdout.matchAll(/^SKIPPED \[\d+\] \S+: (?:unittest\.case\.SkipTest: )?(.*)$/gm)].map(([, why = '']) => why),
  };
}

/** Installs pytest into the cache on first use, and returns the folder for PYTHONPATH. */
export async function installPytest(python: string): Promise<string> {
  const { code, stdout, stderr } = await runProcess(join(ROOT, 'test/support/setup-pytest.sh'), [python], { env: process.env });
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trim();
}
