import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from '../support/run-process.ts';

/** The result of a process. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process that a test started. */
export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves with the first output on standard error, for example progress, or at the end. */
  readonly begun: Promise<unknown>;
}

/**
 * Starts the command line as its own process, without the shell launcher, so that a signal hits
 * only this process.
 */
export function start(args: readonly string[], env: Readonly<Record<string, string>>): Running {
  const child = spawn(process.execPath, [join(ROOT, 'src/cli/main.ts'), ...args], {
    // Keep the compile cache, as the launcher does.
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/holdfast'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { child, ended, begun: Promise.race([ended, new Promise((resolve) => child.stderr.once('data', resolve))]) };
}

/** Runs the command line to its end. */
export function runHoldfast(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  return start(args, env).ended;
}

/** The digest of every file below a folder, by path. */
export function digests(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return Object.fromEntries(paths.map((path) => [relative(folder, path), createHash('sha256').update(readFileSync(path)).digest('hex')]));
}
