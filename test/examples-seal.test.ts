import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bash, ROOT } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

const SCRIPT = join(ROOT, 'examples', 'seal.sh');

it('the example seals real saves, kills the next one half-way, and resumes from the newest sealed one', async () => {
  using folder = tempFolder();
  const { code, stdout, stderr } = await bash(`"${SCRIPT}"`, { env: { PATH: process.env['PATH'], TMPDIR: folder.path } });
  const lines = stdout.trimEnd().split('\n');
  expect(lines.filter((line) => line.startsWith('SEALED')).map((line) => line.split('/').at(-1))).toEqual([
    'checkpoint-2',
    'epoch=0-step=4.ckpt',
  ]);
  expect(stderr).toMatch(/CHECKPOINT_NOT_GOOD: \S+\/checkpoint-6 is PARTIAL/);
  expect(lines.at(-1)).toMatch(/\/epoch=0-step=4\.ckpt$/);
  expect(code).toBe(0);
  expect(readdirSync(folder.path)).toEqual([]);
});

it('docs/seal.md shows the example unchanged', () => {
  const lines = readFileSync(SCRIPT, 'utf8').split('\n');
  const commands = lines.filter((line) => line !== '' && !line.startsWith('#'));
  expect(commands.length).toBeLessThanOrEqual(10);
  expect(readFileSync(join(ROOT, 'docs/seal.md'), 'utf8')).toContain(commands.map((line) => `    ${line}`).join('\n'));
});
