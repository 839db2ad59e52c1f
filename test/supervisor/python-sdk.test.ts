import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { supportedPythons } from '../support/pythons.ts';
import { ROOT, runProcess } from '../support/run-process.ts';

const PYTHON = join(ROOT, 'python');
const ENV = { PATH: process.env['PATH'], HOME: homedir(), PYTHONDONTWRITEBYTECODE: '1' };

describe.each(supportedPythons())('the SDK on %s', (python) => {
  it('does what its tests say', async () => {
    const env = { ...ENV, PYTHONPATH: PYTHON };
    const { code, stderr } = await runProcess(python, ['-W', 'ignore', '-m', 'unittest', '-q'], { cwd: join(PYTHON, 'tests'), env });
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  });
});
