import { execFileSync } from 'node:child_process';
import { ROOT } from '../../support/run-process.ts';

const REPOSITORY = ROOT.replace(/\/$/, '');

interface HostTrees {
  readonly path: string;
  readonly volumes: readonly unknown[];
  readonly mounts: readonly unknown[];
}

/** The folder of the machine's Python, also where `python3` is a shim that looks for it. */
export function hostPython(): string {
  return execFileSync('python3', ['-c', 'import sys; print(sys.base_prefix)'], { encoding: 'utf8' }).trim();
}

/** The machine's own programs, its Python and this repository, for pods to mount read-only: then an image needs next to nothing. */
export function hostTrees(): HostTrees {
  const python = hostPython();
  const folders = [...new Set(['/usr', REPOSITORY, ...(python.startsWith('/usr') ? [] : [python])])];
  return {
    path: `${python}/bin:/usr/bin:/bin`,
    volumes: folders.map((path, index) => ({ name: `host-${index}`, hostPath: { path } })),
    mounts: folders.map((mountPath, index) => ({ name: `host-${index}`, mountPath, readOnly: true })),
  };
}
