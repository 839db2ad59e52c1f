import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as pass } from 'node:timers/promises';
import { measureProcess } from './support/process.ts';
import { IS_TRIAL, roundsOr } from './support/size.ts';
import type { Suite } from './support/suite.ts';

const ROOT = join(import.meta.dirname, '..');
const LOOP = join(import.meta.dirname, 'support', 'steps.py');
const MOST_DELAY_SECONDS = 0.15;
const MOST_BYTES = 64e6;
const MOST_SHARE = 0.01;
/** How long a supervisor is watched, once the memory of the start is released. */
const SETTLE_SECONDS = 5;
const WATCH_SECONDS = IS_TRIAL ? 5 : 60;

class Scratch {
  readonly path = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  #runs = 0;

  /** `holdfast run` with its own run, which looks for metadata services as by default. */
  command(): readonly string[] {
    return [join(ROOT, 'bin/holdfast'), 'run', `--dir=${join(this.path, `run-${++this.#runs}`)}`, '--every=1h', '--'];
  }

  dispose(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** The time from the start of a command to the first instruction of the trainer. */
export async function runStart(): Promise<Suite> {
  const scratch = new Scratch();
  const untilTrainer = async (command: readonly string[]): Promise<{ readonly seconds: number }> => {
    const begun = performance.timeOrigin + performance.now();
    const { stdout } = await measureProcess([...command, 'date', '+%s%N']);
    return { seconds: Number(BigInt(stdout.trim()) / 1000n) / 1e6 - begun / 1000 };
  };
  await untilTrainer(scratch.command());
  return {
    name: 'run: start',
    description:
      'From the start of the command to the first moment of the trainer (`date`), by itself and under `holdfast run` in a run that is made afresh. From a clone, launcher included, warm caches.',
    rounds: roundsOr(20),
    reference: 'bare',
    bytes: 0,
    variants: [
      { name: 'bare', run: () => untilTrainer([]) },
      { name: 'holdfast', run: () => untilTrainer(scratch.command()) },
    ],
    bounds: [
      {
        text: `the trainer starts at most ${MOST_DELAY_SECONDS * 1000} ms later than bare`,
        isMet: (results) =>
          (results.get('holdfast')?.seconds.median ?? 1) - (results.get('bare')?.seconds.median ?? 0) <= MOST_DELAY_SECONDS,
      },
    ],
    dispose: () => scratch.dispose(),
  };
}

/** What a supervisor costs while its trainer trains: memory, and processor time. */
export async function runIdle(): Promise<Suite> {
  const scratch = new Scratch();
  const seconds = SETTLE_SECONDS + WATCH_SECONDS + 5;
  const steps = String(seconds * 100);
  // The first start after a change strips types, which takes memory, and some parts load only while
  // the trainer runs.
  await measureProcess([...scratch.command(), 'sleep', '3']);
  return {
    name: 'run: idle',
    description: `Processor time of the supervisor alone in ${WATCH_SECONDS} s, and its resident memory at their end (with the pages of the runtime’s own file), while the trainer sleeps, and while it reports steps of 10 ms; beside a Node that does nothing.`,
    rounds: roundsOr(2),
    reference: 'holdfast, the trainer sleeps',
    bytes: 0,
    variants: [
      { name: 'node', run: () => watch([process.execPath, '-e', `setTimeout(() => {}, ${seconds * 1000})`]) },
      { name: 'holdfast, the trainer sleeps', run: () => watch([...scratch.command(), 'sleep', String(seconds)]) },
      { name: 'holdfast, the trainer steps', run: () => watch([...scratch.command(), 'python3', LOOP, 'sdk', steps]) },
    ],
    bounds: [
      {
        text: `at most ${MOST_BYTES / 1e6} MB resident while the trainer sleeps`,
        isMet: (results) => (results.get('holdfast, the trainer sleeps')?.peakBytes ?? Infinity) <= MOST_BYTES,
      },
      {
        text: `at most ${MOST_SHARE * 100} % of a core, ${(WATCH_SECONDS * MOST_SHARE).toFixed(2)} s, also while the trainer steps`,
        isMet: (results) =>
          [...results.values()].every(({ name, seconds: used }) => name === 'node' || used.median <= WATCH_SECONDS * MOST_SHARE),
      },
    ],
    dispose: () => scratch.dispose(),
  };
}

async function watch(command: readonly string[]): Promise<{ readonly seconds: number; readonly peakBytes: number }> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const pid = child.pid ?? 0;
  await pass(SETTLE_SECONDS * 1000);
  const before = processorSeconds(pid);
  await pass(WATCH_SECONDS * 1000);
  const found = { seconds: processorSeconds(pid) - before, peakBytes: residentBytes(pid) };
  child.kill('SIGTERM');
  await ended;
  return found;
}

/**
 * The processor time of all living threads, to the nanosecond. Clock ticks are too coarse for a
 * process that is almost idle.
 */
function processorSeconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce(
    (sum, thread) => sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]) / 1e9,
    0,
  );
}

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? Number.NaN) * 1024;
}
