import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

export interface MeasuredRun {
  readonly code: number | null;
  readonly seconds: number;
  /** The most memory it held, sampled every few milliseconds. */
  readonly peakBytes: number;
  /** The same without pages of files, which belong to the page cache. */
  readonly peakOwnBytes: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command until it ends and measures it. After `mostSeconds` the command is killed and has
 * no exit code.
 */
export function measureProcess(command: readonly string[], mostSeconds = Number.POSITIVE_INFINITY): Promise<MeasuredRun> {
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
      if (performance.now() - started > mostSeconds * 1000) child.kill('SIGKILL');
    }, 5);
    child.stdout.on('data', (bytes: Buffer) => out.push(bytes));
    child.stderr.on('data', (bytes: Buffer) => err.push(bytes));
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(look);
      const seconds = (performance.now() - started) / 1000;
      const [stdout, stderr] = [out, err].map((parts) => Buffer.concat(parts).toString('utf8')) as [string, string];
      resolve({ code, seconds, peakBytes, peakOwnBytes, stdout, stderr });
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
