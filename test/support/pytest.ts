import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT, runProcess } from './run-process.ts';

const SDK = join(ROOT, 'python');

export interface PytestOptions {
  /** Where the package lies that is tested; null: it is installed. */
  readonly sources: string | null;
  readonly env?: Readonly<Record<string, string>>;
}

export interface PytestResult {
  readonly passed: number;
  /** Why tests were left out, one for each reason and place. */
  readonly skipped: readonly string[];
}

/** Passes all tests of the SDK with pytest on this Python, and tells what was left out. Whatever fails is told in its own words. */
export async function passPytest(python: string, { sources, env = {} }: PytestOptions): Promise<PytestResult> {
  const path = [await installPytest(python), ...(sources === null ? [] : [sources])].join(':');
  // The widest line holds any reason; from the tests’ own folder nothing of the sources is found that was not named.
  const settings = { PATH: process.env['PATH'], HOME: homedir(), COLUMNS: '1000', PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: path, ...env };
  const args = ['-m', 'pytest', '-q', '-rs', '-W', 'ignore', '-p', 'no:cacheprovider', '-o', 'pythonpath=tests'];
  const { code, stdout, stderr } = await runProcess(python, args, { cwd: join(SDK, 'tests'), env: settings });
  expect({ code, said: code === 0 ? '' : `${stdout}${stderr}` }).toEqual({ code: 0, said: '' });
  return {
    passed: Number(/^(\d+) passed/m.exec(stdout)?.[1] ?? 0),
    skipped: [...stdout.matchAll(/^SKIPPED \[\d+\] \S+: (?:unittest\.case\.SkipTest: )?(.*)$/gm)].map(([, why = '']) => why),
  };
}

async function installPytest(python: string): Promise<string> {
  const { code, stdout, stderr } = await runProcess(join(ROOT, 'test/support/setup-pytest.sh'), [python], { env: process.env });
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trim();
}
