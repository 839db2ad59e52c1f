import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

export interface ProcessRun {
  readonly seconds: number;
  /** The most memory it held, as far as a look every 10 ms tells. */
  readonly peakBytes: number;
  readonly stdout: string;
}

/** Runs a command to its end and measures it. Rejects when it exits with a code that is not expected. */
export function measureProcess(command: readonly string[], expectedExit: readonly number[] = [0]): Promise<ProcessRun> {
  const [program = '', ...args] = command;
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let peakBytes = 0;
    const look = setInterval(() => {
      peakBytes = Math.max(peakBytes, highWaterMark(child.pid ?? 0));
    }, 10);
    child.stdout.on('data', (bytes: Buffer) => out.push(bytes));
    child.stderr.on('data', (bytes: Buffer) => err.push(bytes));
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(look);
      const seconds = (performance.now() - started) / 1000;
      if (expectedExit.includes(code ?? -1)) resolve({ seconds, peakBytes, stdout: Buffer.concat(out).toString('utf8') });
      else reject(new Error(`${command.join(' ')} exited with ${code}: ${Buffer.concat(err).toString('utf8').slice(0, 2000)}`));
    });
  });
}

function highWaterMark(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
