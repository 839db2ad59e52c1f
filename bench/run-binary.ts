import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as pass } from 'node:timers/promises';
import { buildExecutable } from '../tools/binary/executable.ts';
import { roundsOr } from './support/size.ts';
import type { Suite } from './support/suite.ts';

const MOST_DELAY_SECONDS = 0.15;
const MOST_BYTES = 64e6;
/** The memory of the start is released after a while. */
const SETTLE_SECONDS = 5;

/**
 * The single executable: how much later the trainer starts than without it, and the supervisor's
 * memory while it trains.
 */
export async function runBinary(): Promise<Suite | string> {
  if (process.platform !== 'linux') return 'the executable is made on Linux';
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const binary = join(folder, 'holdfast');
  await buildExecutable(binary);
  let runs = 0;
  const supervised = (): readonly string[] => [binary, 'run', `--dir=${join(folder, `run-${++runs}`)}`, '--every=1h', '--'];
  return {
    name: 'run: the single executable',
    description: `From the start of the command to the first moment of the trainer, by itself and under the single executable, warm caches; and the resident memory of the supervisor ${SETTLE_SECONDS} s later, with the pages of the file it is.`,
    rounds: roundsOr(10),
    reference: 'bare',
    bytes: 0,
    variants: [
      { name: 'bare', run: () => startOf([], folder) },
      { name: 'holdfast', run: () => startOf(supervised(), folder) },
    ],
    bounds: [
      {
        text: `the trainer starts at most ${MOST_DELAY_SECONDS * 1000} ms later than bare`,
        isMet: (results) =>
          (results.get('holdfast')?.seconds.median ?? 1) - (results.get('bare')?.seconds.median ?? 0) <= MOST_DELAY_SECONDS,
      },
      {
        text: `at most ${MOST_BYTES / 1e6} MB resident`,
        isMet: (results) => (results.get('holdfast')?.peakBytes ?? Infinity) <= MOST_BYTES,
      },
    ],
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The trainer prints the time and then sleeps, while the test measures its supervisor. */
async function startOf(command: readonly string[], home: string): Promise<{ readonly seconds: number; readonly peakBytes?: number }> {
  const trainer = ['sh', '-c', `date +%s%N; exec sleep ${SETTLE_SECONDS + 60}`];
  const [program = '', ...args] = [...command, ...trainer];
  const begun = performance.timeOrigin + performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, HOME: home } });
  const ended = once(child, 'close');
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  const seconds = Number(BigInt(text.toString().trim()) / 1000n) / 1e6 - begun / 1000;
  if (command.length > 0) await pass(SETTLE_SECONDS * 1000);
  const status = readFileSync(`/proc/${child.pid}/status`, 'latin1');
  const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) * 1024;
  child.kill('SIGTERM');
  await ended;
  return command.length > 0 ? { seconds, peakBytes: resident } : { seconds };
}
