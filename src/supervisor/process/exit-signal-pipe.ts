import type { ChildProcess, StdioOptions } from 'node:child_process';
import { Socket } from 'node:net';
import { dyingSignal } from './process-table.ts';

/** The pipe's descriptor, high enough that no program uses it; those below it stay as they are. */
const DESCRIPTOR = 99;

/** The standard streams of the supervisor, untouched, and on Linux the pipe that shows the end. */
export const STREAMS_AND_EXIT_SIGNAL: StdioOptions =
  process.platform === 'linux' ? Array.from({ length: DESCRIPTOR + 1 }, (_, descriptor) => streamOf(descriptor)) : 'inherit';

function streamOf(descriptor: number): 'inherit' | 'ignore' | 'pipe' {
  if (descriptor < 3) return 'inherit';
  return descriptor === DESCRIPTOR ? 'pipe' : 'ignore';
}

/**
 * Finds which signal killed a process when Node.js cannot. Node.js has no names for real-time
 * signals, and reports such an end as an exit with 0. The kernel knows the signal until Node.js has
 * waited for the process. The process holds one end of a pipe, and the kernel closes it before it
 * reports the end. Node.js also handles pipes before ends, so the close is the time to look.
 *
 * The pipe shows nothing when the process closed its inherited descriptors, or when a forked
 * process holds the pipe too. An SDK closes its socket in forked processes, so the end of that
 * connection serves as well.
 */
export class ExitSignalPipe {
  readonly #pid: number;
  #signal: number | null = null;

  constructor(child: ChildProcess) {
    this.#pid = child.pid ?? 0;
    const line: unknown = (child.stdio as readonly unknown[])[DESCRIPTOR];
    if (!(line instanceof Socket)) return;
    line.on('error', () => {}).on('end', () => this.look());
    // Bytes that arrive here are dropped, and the pipe keeps no process alive.
    line.resume().unref();
    child.once('exit', () => line.destroy());
  }

  /** Looks for a signal, because a pipe or connection of the process was closed. */
  look(): void {
    this.#signal ??= dyingSignal(this.#pid);
  }

  /** The number of the signal that kills the process; null when none was seen. */
  get signal(): number | null {
    return this.#signal;
  }
}
