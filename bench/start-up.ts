import { join } from 'node:path';
import { measureProcess } from './support/process.ts';
import type { Suite } from './support/suite.ts';

const ROOT = join(import.meta.dirname, '..');

/** How long `holdfast --version` takes, compared with a Node that does nothing. */
export async function startUp(): Promise<Suite> {
  const holdfast = join(ROOT, 'bin', 'holdfast');
  const version = [holdfast, '--version'];
  await measureProcess(version);
  return {
    name: 'start-up',
    description: '`bin/holdfast --version` from a clone, launcher included, beside `node -e 0` with the same runtime. Warm caches.',
    rounds: 40,
    reference: 'node -e 0',
    bytes: 0,
    variants: [
      { name: 'node -e 0', run: () => measureProcess([process.execPath, '-e', '0']) },
      { name: 'holdfast --version', run: () => measureProcess(version) },
      { name: 'holdfast help', run: () => measureProcess([holdfast, 'help']) },
    ],
    bounds: [
      {
        text: '`holdfast --version` takes at most 2 × an empty Node start',
        isMet: (results) => (results.get('holdfast --version')?.seconds.median ?? 1) <= 2 * (results.get('node -e 0')?.seconds.median ?? 0),
      },
    ],
  };
}
