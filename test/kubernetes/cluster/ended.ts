import type { ChildProcess } from 'node:child_process';

/** By itself, or by a signal. */
export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
