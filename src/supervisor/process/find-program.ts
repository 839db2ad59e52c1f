import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';

/** Where the system would find the program, or null. */
export function findProgram(word: string, path = ''): string | null {
  return candidatesOf(word, path).find(isExecutable) ?? null;
}

/**
 * Refuses a command that cannot be run, before anything is done for it: starting an attempt would
 * end a healthy older one.
 */
export function assertRunnable([program = '']: readonly string[], path = ''): void {
  if (findProgram(program, path) !== null) return;
  const isThere = candidatesOf(program, path).some(isTaken);
  throw cannotRun(program, Object.assign(new Error(), { code: isThere ? 'EACCES' : 'ENOENT' }));
}

/** The error for a program that cannot be run, with the exit code that a shell would give. */
export function cannotRun(program: string, thrown: unknown): HoldfastError {
  const code = systemCode(thrown);
  const shown = excerpt(program, 200);
  if (code === 'ENOENT') {
    return new HoldfastError('COMMAND_NOT_FOUND', {
      message: `there is no program "${shown}"`,
      hint: program.includes('/')
        ? 'Check the path, and whether the volume is mounted here.'
        : 'Check the spelling and the PATH, or give its path.',
      cause: thrown,
    });
  }
  return new HoldfastError('COMMAND_NOT_EXECUTABLE', {
    message: `"${shown}" cannot be run: ${code ?? String(thrown)}`,
    hint: 'Make it executable (chmod +x) and give it a first line that names its interpreter, or name the interpreter: python train.py.',
    cause: thrown,
  });
}

function candidatesOf(word: string, path: string): readonly string[] {
  return word.includes('/') ? [word] : path.split(delimiter).map((folder) => join(folder === '' ? '.' : folder, word));
}

/** Whether anything has this name, also a link that leads to itself. */
function isTaken(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
