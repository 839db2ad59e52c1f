import { cpSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { passPytest } from '../support/pytest.ts';
import { supportedPythons } from '../support/pythons.ts';
import { ROOT, runProcess } from '../support/run-process.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { installFrameworks } from './support/python.ts';

const ENV = { PATH: process.env['PATH'], HOME: homedir(), PYTHONDONTWRITEBYTECODE: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' };

const folder = tempFolder();
let wheel: string;

async function succeed(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProcess(program, args, { cwd: folder.path, env: ENV });
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trim();
}

beforeAll(async () => {
  // Building leaves its own files beside the sources; the torch family has the setuptools that it
  // needs.
  const sources = join(folder.path, 'sources');
  cpSync(join(ROOT, 'python'), sources, { recursive: true });
  const python = (await installFrameworks(['torch'])).get('torch') ?? '';
  await succeed(python, [
    '-m',
    'pip',
    'wheel',
    '--quiet',
    '--no-deps',
    '--no-index',
    '--no-build-isolation',
    '--wheel-dir',
    folder.path,
    sources,
  ]);
  wheel = join(folder.path, readdirSync(folder.path).find((name) => name.endsWith('.whl')) ?? '');
});

afterAll(() => folder[Symbol.dispose]());

describe.each(supportedPythons())('the wheel in an empty environment of %s', (python) => {
  it('is all that its tests need', async () => {
    const place = join(folder.path, `environment-${supportedPythons().indexOf(python)}`);
    await succeed(python, ['-m', 'venv', place]);
    const own = join(place, 'bin/python');
    await succeed(own, ['-m', 'pip', 'install', '--quiet', '--no-index', wheel]);
    expect((await passPytest(own, { sources: null })).passed).toBeGreaterThan(90);
    expect(await succeed(own, ['-c', 'import holdfast; print(holdfast.__file__)'])).toContain(place);
  });
});
