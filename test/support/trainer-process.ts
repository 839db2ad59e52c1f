import { readLedger } from '../../src/ledger/reader.ts';
import { isCode } from '../../src/store/disk/store-error.ts';

/**
 * The trainer's first process, which leads its group, from the run's newest attempt. Waits for the
 * record. `before` is the process of the previous attempt: ranks may print before their supervisor
 * has written the record.
 */
export async function trainerPid(run: string, before?: number): Promise<number> {
  for (;;) {
    const pids = readLedger(run).events.flatMap(({ event }) => (event.kind === 'trainer-started' ? [event.pid] : []));
    const newest = pids.at(-1);
    if (newest !== undefined && newest !== before) return newest;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Kills a process, or a group if the number is negative. It may already have ended. */
export function killHard(pid: number): void {
  // 0 is the test's own group, and -1 every process of the user.
  if (!Number.isSafeInteger(pid) || Math.abs(pid) <= 1) throw new Error(`${pid} is no process to kill`);
  try {
    process.kill(pid, 'SIGKILL');
  } catch (thrown) {
    if (!isCode(thrown, 'ESRCH')) throw thrown;
  }
}
