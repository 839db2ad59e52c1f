import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { formatDuration } from '../../core/duration.ts';
import { TORCHRUN_TIMEOUT } from '../attempt/environment.ts';
import { findProgram } from '../process/find-program.ts';

/** The grace that an older torchrun gives its workers, whatever the grace of the run is. */
const FIXED_TIMEOUT_MS = 30_000;

/**
 * A warning when the command is a torchrun without a setting for the grace that would end its
 * workers too early; else null.
 */
export function torchrunWarning(command: readonly string[], graceMs: number, path: string | undefined): string | null {
  if (graceMs <= FIXED_TIMEOUT_MS) return null;
  const program = torchrunOf(command, path);
  if (program === null || knowsTimeout(program) !== false) return null;
  return `this torchrun ends its workers ${formatDuration(FIXED_TIMEOUT_MS)} after SIGTERM whatever the grace is (${formatDuration(graceMs)}): it is too old to know ${TORCHRUN_TIMEOUT}`;
}

/** The program whose installation holds the launcher, or null when the command is none. */
function torchrunOf(command: readonly string[], path: string | undefined): string | null {
  const isModule = command.some((word, index) => word === '-m' && /^torch\.distributed\.(run|launch)$/.test(command[index + 1] ?? ''));
  const word = isModule ? command[0] : command.find((one) => basename(one) === 'torchrun');
  return word === undefined ? null : findProgram(word, path);
}

/**
 * Whether the launcher beside this program reads the variable; null when it cannot be found. This
 * reads the file and executes nothing.
 */
function knowsTimeout(program: string): boolean | null {
  for (const home of new Set([dirname(dirname(program)), dirname(dirname(resolved(program)))])) {
    for (const version of pythonsIn(join(home, 'lib'))) {
      const text = read(join(home, 'lib', version, 'site-packages/torch/distributed/launcher/api.py'));
      if (text !== null) return text.includes(TORCHRUN_TIMEOUT);
    }
  }
  return null;
}

function resolved(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function pythonsIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.startsWith('python3'));
  } catch {
    return [];
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
