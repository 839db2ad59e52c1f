import { execFileSync, spawnSync } from 'node:child_process';
import { ROOT } from '../../support/run-process.ts';
import { whyNoCluster } from '../cluster/facility.ts';

const REPOSITORY = ROOT.replace(/\/$/, '');

/** Folders of the machine in a pod, and the PATH that finds its programs. */
export interface HostTrees {
  readonly path: string;
  readonly volumes: readonly unknown[];
  readonly mounts: readonly unknown[];
}

/** Why no trainer can run in a pod here, or null. It needs a cluster and the machine's Python. */
export function whyNoTrainers(): string | null {
  return whyNoCluster() ?? whyNoPython();
}

export function whyNoPython(): string | null {
  const { status, error, stderr } = spawnSync('python3', ['-c', ''], { encoding: 'utf8' });
  return status === 0
    ? null
    : `the trainers in pods need the machine's python3 (Debian's package python3): ${error?.message ?? stderr.trim()}`;
}

/** The folder of the machine's Python, even if `python3` is a shim that looks for it. */
export function hostPython(): string {
  return execFileSync('python3', ['-c', 'import sys; print(sys.base_prefix)'], { encoding: 'utf8' }).trim();
}

/**
 * The machine's programs, its Python and this repository, for pods to mount read-only. The image
 * then needs almost nothing.
 */
export function hostTrees(): HostTrees {
  const python = hostPython();
  const folders = [...new Set(['/usr', REPOSITORY, ...(python.startsWith('/usr') ? [] : [python])])];
  return {
    path: `${python}/bin:/usr/bin:/bin`,
    volumes: folders.map((path, index) => ({ name: `host-${index}`, hostPath: { path } })),
    mounts: folders.map((mountPath, index) => ({ name: `host-${index}`, mountPath, readOnly: true })),
  };
}
