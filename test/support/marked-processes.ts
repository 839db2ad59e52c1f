import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** A variable in the environment of a process, and so of everything that it starts, at any remove and in any session. */
export class ProcessMark {
  readonly env: Readonly<Record<string, string>> = { HOLDFAST_TEST_MARK: randomUUID() };

  /** Kills everything that carries it; how many that were. */
  kill(): number {
    const mark = Object.entries(this.env)[0]?.join('=') ?? '';
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && killIfMarked(Number(name), mark)).length;
  }

  /** The same, until there is none: what is killed may have been starting another. */
  async end(): Promise<void> {
    while (this.kill() > 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

function killIfMarked(pid: number, mark: string): boolean {
  try {
    const isMarked = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark);
    return isMarked && pid !== process.pid && process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself, or is not ours to look at.
    return false;
  }
}

/** Of every run that the tests of one file start; what a test that failed has left running is ended by it. */
export const RUNS = new ProcessMark();
