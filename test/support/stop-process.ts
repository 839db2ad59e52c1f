import { readdirSync, readFileSync } from 'node:fs';

/** Stops a process, and resolves when none of its threads runs. */
export async function stopProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const isStopped = (thread: string): boolean => /^State:\s+T/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'latin1'));
  while (!readdirSync(`/proc/${pid}/task`).every(isStopped)) await new Promise((resolve) => setImmediate(resolve));
}
