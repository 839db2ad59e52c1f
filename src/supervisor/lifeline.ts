import type { ChildProcess, StdioOptions } from 'node:child_process';
import { Socket } from 'node:net';
import { dyingSignal } from './process-table.ts';

/** A descriptor that nobody else counts on; those below it are handed on as they are. */
const DESCRIPTOR = 99;

/** The standard streams of the supervisor, untouched, and a lifeline where the kernel can be asked. */
export const STREAMS_AND_LIFELINE: StdioOptions =
  process.platform === 'linux' ? Array.from({ length: DESCRIPTOR + 1 }, (_, descriptor) => streamOf(descriptor)) : 'inherit';

function streamOf(descriptor: number): 'inherit' | 'ignore' | 'pipe' {
  if (descriptor < 3) return 'inherit';
  return descriptor === DESCRIPTOR ? 'pipe' : 'ignore';
}

/**
 * Tells which signal killed a process where Node.js cannot: it has no names for real-time signals, and tells of such an end as of an exit with 0.
 * The kernel knows it until Node.js has waited for the process. Of a pipe whose other end the process holds, the kernel tells before it tells of the end,
 * and Node.js hears of pipes before it hears of ends: that is when to look. Nobody hears anything where the process has closed what it inherited, or
 * where another that it has forked holds the pipe too; the socket of an SDK, which lets go of it in what is forked, is as good.
 */
export class Lifeline {
  readonly #pid: number;
  #signal: number | null = null;

  constructor(child: ChildProcess) {
    this.#pid = child.pid ?? 0;
    const line: unknown = (child.stdio as readonly unknown[])[DESCRIPTOR];
    if (!(line instanceof Socket)) return;
    line.on('error', () => {}).on('end', () => this.look());
    // What somebody writes there is nobody's, and nobody waits for it.
    line.resume().unref();
    child.once('exit', () => line.destroy());
  }

  /** Something that the process may have held was closed. */
  look(): void {
    this.#signal ??= dyingSignal(this.#pid);
  }

  /** The number of the signal of which it dies; null where none was seen. */
  get signal(): number | null {
    return this.#signal;
  }
}
