import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ProcessResult, ROOT, runProcess } from '../../support/run-process.ts';
import { EXAMPLES } from './example.ts';
import { type HostTrees, hostTrees } from './host-trees.ts';

const FINDER = join(ROOT, 'test/frameworks/setup.sh');

/** The folder of an environment with torch, if it was installed. */
export function findTorch(): string | null {
  try {
    const found = execFileSync(FINDER, ['--find', 'torch'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const python = found.match(/^torch=(.*)$/m)?.[1];
    return python === undefined ? null : dirname(dirname(python));
  } catch {
    return null;
  }
}

/** The folder of the Python that made an environment. */
export function pythonOf(environment: string): string {
  const home = readFileSync(join(environment, 'pyvenv.cfg'), 'utf8').match(/^home = (.*)$/m)?.[1] ?? '/usr/bin';
  return dirname(realpathSync(home));
}

/** What pods mount read-only to run a trainer with the Python of an environment. */
export function torchTrees(environment: string): HostTrees {
  const { path, volumes, mounts } = hostTrees();
  const folders = [environment, pythonOf(environment)].filter(
    (folder) => !volumes.some((each) => JSON.stringify(each).includes(`"${folder}"`)),
  );
  const named = folders.map((folder, index) => ({ name: `torch-${index}`, folder }));
  return {
    path,
    volumes: [...volumes, ...named.map(({ name, folder }) => ({ name, hostPath: { path: folder } }))],
    mounts: [...mounts, ...named.map(({ name, folder }) => ({ name, mountPath: folder, readOnly: true }))],
  };
}

export function packagesOf(environment: string): string {
  const [packages] = globSync(join(environment, 'lib/python*/site-packages'));
  if (packages === undefined) throw new Error(`${environment} has no packages`);
  return packages;
}

/**
 * The weights that all ranks print. The ranks share an output, so one rank's line may begin inside
 * another's.
 */
export function weightsIn(text: string): readonly string[] {
  return [...text.matchAll(/finished with weights ([0-9a-f]{16})/g)].map(([, weights]) => String(weights));
}

/** The training of the torchrun example without an interruption; it ends with its caller. */
export function uninterruptedTorchrun(environment: string, steps: string): Promise<ProcessResult> {
  const line = [
    '--pdeathsig',
    'TERM',
    join(environment, 'bin/torchrun'),
    '--standalone',
    '--nproc-per-node=2',
    join(EXAMPLES, 'torchrun/train.py'),
    steps,
  ];
  return runProcess('setpriv', line, {
    env: { PATH: process.env['PATH'], PYTHONPATH: join(ROOT, 'python'), OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '' },
  });
}
