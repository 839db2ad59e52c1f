import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

export interface ProcessRun {
  readonly seconds: number;
  /** The most memory it held, as far as a look every 10 ms tells. */
  readonly peakBytes: number;
  /** The same without pages of files, which belong to the page cache. */
  readonly peakOwnBytes: number;
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
    let [peakBytes, peakOwnBytes] = [0, 0];
    const look = setInterval(() => {
      const { highWaterMark, own } = memoryOf(child.pid ?? 0);
      peakBytes = Math.max(peakBytes, highWaterMark);
      peakOwnBytes = Math.max(peakOwnBytes, own);
    }, 10);
    child.stdout.on('data', (bytes: Buffer) => out.push(bytes));
    child.stderr.on('data', (bytes: Buffer) => err.push(bytes));
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(look);
      const seconds = (performance.now() - started) / 1000;
      if (expectedExit.includes(code ?? -1)) resolve({ seconds, peakBytes, peakOwnBytes, stdout: Buffer.concat(out).toString('utf8') });
      else reject(new Error(`${command.join(' ')} exited with ${code}: ${Buffer.concat(err).toString('utf8').slice(0, 2000)}`));
    });
  });
}

function memoryOf(pid: number): { readonly highWaterMark: number; readonly own: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) * 1024;
    return { highWaterMark: field('VmHWM'), own: field('RssAnon') + field('RssShmem') };
  } catch {
    return { highWaterMark: 0, own: 0 };
  }
}
