import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { RUNS } from './marked-processes.ts';
import { LAUNCHER, ROOT } from './run-process.ts';

const TRAINER = join(ROOT, 'test/support/trainers/trainer.py');

type Manner = 'exits' | 'ignores' | 'dies' | 'hangs' | 'fails' | 'lingers';

interface TrainerOptions {
  readonly steps?: number;
  /** The trainer finishes when this file exists. */
  readonly until?: string;
}

/** The command line of the test trainer. */
export function trainerCommand(manner: Manner, kind: 'sdk' | 'bare', { steps = 1_000_000, until = '' }: TrainerOptions = {}): string[] {
  return ['python3', TRAINER, manner, kind, String(steps), until];
}

/** Whether the process runs; false also for a zombie. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
}

/** Why no PID namespace can be made here, or null. */
export function whyNoNamespace(): string | null {
  return process.platform === 'linux' && process.getuid?.() === 0 ? null : 'a PID namespace needs root on Linux';
}

interface SupervisedOptions {
  readonly args: readonly string[];
  readonly command: readonly string[];
  /** Whether it is the first process of its own PID namespace. */
  readonly isFirst?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** A command line that prepares the environment and then executes the rest. */
  readonly within?: readonly string[];
}

/** A started `holdfast run`. Tests can wait for everything that it and its trainer print. */
export class Supervised {
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
  /** Resolves before {@link ended} if a process that it started is still alive and could print. */
  readonly died: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #isFirst: boolean;
  readonly #lines: string[] = [];
  readonly #waiting = new Set<() => void>();
  #hasEnded = false;

  constructor({ args, command, isFirst = false, env = {}, within = [] }: SupervisedOptions) {
    const line = [...within, LAUNCHER, 'run', ...args, '--', ...command];
    const [program = '', ...rest] = isFirst ? ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child', ...line] : line;
    this.#isFirst = isFirst;
    this.#child = spawn(program, rest, {
      // The test machine may itself have a metadata service that announces events.
      env: { PATH: process.env['PATH'], PYTHONDONTWRITEBYTECODE: '1', HOLDFAST_METADATA: 'off', ...RUNS.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr] = [this.#keep(this.#child.stdout), this.#keep(this.#child.stderr)];
    this.died = new Promise((resolve) => this.#child.on('exit', (code, signal) => resolve({ code, signal })));
    this.ended = new Promise((resolve, reject) => {
      this.#child.on('error', reject);
      this.#child.on('close', (code) => {
        this.#hasEnded = true;
        for (const wake of this.#waiting) wake();
        resolve({ code, stdout: stdout.join('\n'), stderr: stderr.join('\n') });
      });
    });
  }

  /** The nth matching line of either stream, past or future. */
  async line(pattern: RegExp, count = 1): Promise<string> {
    for (;;) {
      const found = this.#lines.filter((line) => pattern.test(line))[count - 1];
      if (found !== undefined) return found;
      if (this.#hasEnded) throw new Error(`ended without a line like ${pattern}:\n${this.#lines.join('\n')}`);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  /** Everything printed so far, on either stream. */
  get printed(): string {
    return this.#lines.join('\n');
  }

  /** Signals Holdfast itself, as a kubelet signals the first process of the container. */
  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  /** The number of Holdfast's own process (as PID 1: its launcher), seen from outside. */
  get pid(): number {
    const own = this.#child.pid ?? 0;
    if (!this.#isFirst) return own;
    return Number(readFileSync(`/proc/${own}/task/${own}/children`, 'latin1').trim().split(' ')[0]);
  }

  /** Lets a trainer with this file finish. */
  letFinish(until: string): void {
    writeFileSync(until, '');
  }

  /**
   * Repeats Ctrl-C until the supervisor reacts. A second one soon after the first counts as the
   * same.
   */
  async pressAgain(): Promise<void> {
    const isHeard = this.line(/; shorter, because /).then(() => true);
    while (!(await Promise.race([isHeard, pause(100, false)]))) this.signal('SIGINT');
  }

  /** Ends it if it still runs; resolves when every process that could print has ended. */
  async end(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.ended;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #keep(stream: Readable): string[] {
    const kept: string[] = [];
    createInterface({ input: stream }).on('line', (line) => {
      kept.push(line);
      this.#lines.push(line);
      for (const wake of this.#waiting) wake();
    });
    return kept;
  }
}
