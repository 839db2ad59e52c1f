import { readLedger } from '../../src/ledger/reader.ts';
import { isCode } from '../../src/checkpoint/store/store-error.ts';

/**
 * The first process of the trainer, which leads its group, as the newest life of the run has recorded it; waits for the record. `before` is that of the
 * life before: ranks may speak before their supervisor has written.
 */
export async function trainerPid(run: string, before?: number): Promise<number> {
  for (;;) {
    const pids = readLedger(run).events.flatMap(({ event }) => (event.kind === 'trainer-started' ? [event.pid] : []));
    const newest = pids.at(-1);
    if (newest !== undefined && newest !== before) return newest;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Kills a process, or with a negative number a group; one that has just ended by itself is as dead. */
export function killHard(pid: number): void {
  // 0 is the group of the test itself, and -1 everything there is.
  if (!Number.isSafeInteger(pid) || Math.abs(pid) <= 1) throw new Error(`${pid} is no process to kill`);
  try {
    process.kill(pid, 'SIGKILL');
  } catch (thrown) {
    if (!isCode(thrown, 'ESRCH')) throw thrown;
  }
}
