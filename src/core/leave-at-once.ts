import { existsSync } from 'node:fs';

const SHELL = '/bin/sh';

/**
 * Ends the process with this code even when one of its threads waits in the kernel for a silent
 * disk. The runtime would wait for that thread. Replacing the process with a shell (exec) removes
 * all threads, and a shell can exit with any code. Without a shell the process dies of SIGTERM,
 * which the parent reads as 143: interrupted and resumable. The caller writes everything it needs
 * to keep before this. Returns when neither is possible.
 */
export function leaveAtOnce(code: number): void {
  if (existsSync(SHELL)) process.execve?.(SHELL, ['sh', '-c', `exit ${code}`], {});
  process.removeAllListeners('SIGTERM');
  process.kill(process.pid, 'SIGTERM');
}
