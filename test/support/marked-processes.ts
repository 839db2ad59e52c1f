import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** The mark of the whole gate (`.ci/run`), by which it ends the leftovers of a killed suite. */
const GATE = process.env['HOLDFAST_GATE'] ?? '';

/** A variable in a process's environment, and so in all its descendants, in every session. */
export class ProcessMark {
  readonly env: Readonly<Record<string, string>> = { HOLDFAST_TEST_MARK: `${randomUUID()}${GATE}` };

  /** Kills all marked processes and returns how many there were. */
  kill(): number {
    const mark = Object.entries(this.env)[0]?.join('=') ?? '';
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && killIfMarked(Number(name), mark)).length;
  }

  /**
   * Repeats the kill until no process is left, because a killed one may just have started another.
   */
  async end(): Promise<void> {
    while (this.kill() > 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

function killIfMarked(pid: number, mark: string): boolean {
  try {
    const isMarked = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark);
    return isMarked && pid !== process.pid && process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended, or belongs to another user.
    return false;
  }
}

/** The mark of every run that the tests of a file start; it also ends the runs of failed tests. */
export const RUNS = new ProcessMark();
