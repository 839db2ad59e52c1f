import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runProcess } from '../support/run-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import type { Tree } from './compare.ts';
import { jsonLines } from './files.ts';
import { shapeOf } from './shape.ts';

const HERE = import.meta.dirname;

/** Why the Python package cannot run here, or null. */
export async function whyNoPython(): Promise<string | null> {
  const asked = await runProcess('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).catch(() => null);
  return asked?.code === 0 ? null : 'there is no Python 3.9 or newer on the PATH';
}

/**
 * The names that the Python package offers to a trainer, and the shape of each message that it
 * sends.
 */
export async function readPython(): Promise<Tree> {
  const { stdout } = await runProcess('python3', [join(HERE, 'api.py'), join(ROOT, 'python/holdfast')]);
  const said = Object.groupBy((await messagesOfPython()) as readonly { type: string }[], ({ type }) => type);
  return {
    offers: JSON.parse(stdout) as Tree,
    says: Object.fromEntries(Object.entries(said).map(([type, messages = []]) => [type, shapeOf(messages)])),
  };
}

async function messagesOfPython(): Promise<readonly unknown[]> {
  using folder = tempFolder();
  const run = new Supervised({
    args: [`--dir=${join(folder.path, 'run')}`, '--every=1steps'],
    command: [process.execPath, join(HERE, 'relay.ts'), folder.path, 'python3', join(HERE, 'trainer.py')],
  });
  const { code } = await run.ended;
  if (code !== 0) throw new Error(`the trainer in Python ended with ${code}:\n${run.printed}`);
  return jsonLines(readFileSync(join(folder.path, 'said'), 'utf8'));
}
