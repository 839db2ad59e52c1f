import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProcess } from '../../support/run-process.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { EXAMPLES } from './example.ts';
import { TRAINER, trainerCommand } from './training-job.ts';

/** The result of the same training without an interruption. */
export async function uninterrupted(): Promise<string> {
  using folder = tempFolder();
  const shared = join(folder.path, 'shared');
  mkdirSync(shared);
  writeFileSync(join(shared, 'go'), '');
  const [python = '', , ...told] = trainerCommand();
  const { code, stderr } = await runProcess(python, [TRAINER, ...told, 'bare', shared], {
    env: { PATH: process.env['PATH'], PYTHONPATH: join(EXAMPLES, 'stdlib'), PYTHONDONTWRITEBYTECODE: '1' },
  });
  if (code !== 0) throw new Error(`the twin ended with ${code}: ${stderr}`);
  return readFileSync(join(shared, 'result'), 'utf8').trim();
}
