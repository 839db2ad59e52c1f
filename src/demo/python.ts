import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { HoldfastError } from '../core/errors.ts';
import { printable } from '../core/printable.ts';

/** A Python interpreter and its version. */
export interface Python {
  readonly program: string;
  readonly version: string;
}

const OLDEST = [3, 9] as const;
const ASK = 'import sys; print("%d.%d.%d" % sys.version_info[:3])';
const PROGRAMS = ['python3', 'python'] as const;

/** The first Python on the PATH that is new enough for the SDK; throws when there is none. */
export async function findPython(env: Readonly<Record<string, string | undefined>>): Promise<Python> {
  const found: Python[] = [];
  for (const program of PROGRAMS) {
    const version = await versionOf(program, env);
    if (version === null) continue;
    if (isNewEnough(version)) return { program, version };
    found.push({ program, version });
  }
  const there = found.map(({ program, version }) => `${program} is ${printable(version)}`).join(', ');
  throw new HoldfastError('NO_PYTHON', {
    message: `the demo interrupts a trainer written in Python, and there is no Python ${OLDEST.join('.')} or newer on the PATH${there === '' ? '' : ` (${there})`}`,
    hint: 'Install Python 3 (https://python.org, or the package python3 of your system); nothing else is needed.',
  });
}

async function versionOf(program: string, env: Readonly<Record<string, string | undefined>>): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)(program, ['-c', ASK], { env: { ...env }, timeout: 60_000 });
    return stdout.trim();
  } catch {
    return null;
  }
}

/** Whether the SDK supports this version of Python. */
export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}
