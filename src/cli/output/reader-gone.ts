import { spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';

/** Tells whether the reader of this process's output is still there. */
export interface ReaderWatch {
  readonly isGone: boolean;
  close(): void;
}

/**
 * Watches, without a write, whether the reader of standard output's pipe has gone. A command that
 * prints seldom would otherwise keep running without a reader, because only a write fails on a
 * broken pipe. The runtime has no call for this, so GNU tail checks and ends by SIGPIPE. Without
 * GNU tail or a pipe, the reader counts as present.
 */
export function watchReader(): ReaderWatch {
  if (!fstatSync(1).isFIFO()) return { isGone: false, close: () => {} };
  const watch = { isGone: false, close: (): void => void tail.kill('SIGKILL') };
  const tail = spawn('tail', [`--pid=${process.pid}`, '-f', '/dev/null'], { stdio: ['ignore', 'inherit', 'ignore'] });
  tail.on('error', () => {});
  tail.on('exit', (_, signal) => (watch.isGone = signal === 'SIGPIPE'));
  tail.unref();
  return watch;
}
