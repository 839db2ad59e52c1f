import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface ProcessResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProcessOptions {
  readonly cwd?: string;
  /** The whole environment. The default is only a PATH, so nothing of the test runner leaks in. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The text on its standard input; empty by default. */
  readonly input?: string;
}

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const LAUNCHER = `${ROOT}bin/holdfast`;

/** Runs a program until it ends and returns its output. */
export function runProcess(file: string, args: readonly string[], { cwd, env, input }: ProcessOptions = {}): Promise<ProcessResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      env: env ?? { PATH: process.env['PATH'] },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      ...(cwd === undefined ? {} : { cwd }),
    });
    let [stdout, stderr] = ['', ''];
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    // A process may end without reading all of it.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** Runs a line of bash, for redirections, pipes and terminals. */
export function bash(line: string, options: ProcessOptions = {}): Promise<ProcessResult> {
  return runProcess('bash', ['-c', line], options);
}
