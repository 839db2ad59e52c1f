import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { ProcessMark } from '../../support/marked-processes.ts';

export const FRAMEWORKS = join(import.meta.dirname, '..');

/** True where the processor can run the matrix kernels that made the fixtures. */
export const HAS_KERNELS_OF_FIXTURES = hasAvx512();

/**
 * What the frameworks may see of our environment, and what keeps them small and off any
 * accelerator. OpenBLAS sums in another order on every kind of processor, so the last bits of
 * trained weights differ. The fixtures were made with its AVX-512 kernels, which it must not choose
 * by itself.
 */
const ENVIRONMENT = {
  ...process.env,
  ...(HAS_KERNELS_OF_FIXTURES ? { OPENBLAS_CORETYPE: 'SkylakeX' } : {}),
  OMP_NUM_THREADS: '1',
  CUDA_VISIBLE_DEVICES: '',
  TF_CPP_MIN_LOG_LEVEL: '3',
  PYTHONDONTWRITEBYTECODE: '1',
};

function hasAvx512(): boolean {
  try {
    return /^flags\b.*\bavx512f\b.*\bavx512vl\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'));
  } catch {
    return false;
  }
}

/**
 * Installs the frameworks of these families, or of all, where they are missing; the Python of each
 * family.
 */
export async function installFrameworks(families: readonly string[] = []): Promise<ReadonlyMap<string, string>> {
  const printed = await output('bash', [join(FRAMEWORKS, 'setup.sh'), ...families]);
  return new Map(printed.split('\n').flatMap((line) => (line.includes('=') ? [line.split('=', 2) as [string, string]] : [])));
}

/** The family that a maker, loader or writer says it needs, in its first lines. */
export function familyOf(script: string): string {
  const family = /^(?:# )?family: *(\w+)/im.exec(readFileSync(join(FRAMEWORKS, script), 'utf8'))?.[1];
  if (family === undefined) throw new Error(`${script} names no family`);
  return family;
}

/**
 * JAX compiles the same operations in every process that is forked, unless each finds in a folder
 * what another has compiled.
 */
export const compiledIn = (folder: string): Readonly<Record<string, string>> => ({
  JAX_COMPILATION_CACHE_DIR: folder,
  JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS: '0',
  JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES: '-1',
});

interface Given {
  /** For its standard input. */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs a program to its end and gives what it printed; its standard error goes where ours goes only
 * when it fails.
 */
export function output(program: string, args: readonly string[], { input = '', env = {} }: Given = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    // Some frameworks leave helper processes in sessions of their own that would hold our pipes
    // open for ever: they carry our mark.
    const mark = new ProcessMark();
    const child = spawn(program, args, { env: { ...ENVIRONMENT, ...env, ...mark.env }, stdio: ['pipe', 'pipe', 'pipe'] });
    let [printed, complaints] = ['', ''];
    child.on('exit', () => void mark.end());
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints = (complaints + text).slice(-4000)));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve(printed);
      else reject(new Error(`${program} ${args.join(' ')} ended with ${code ?? signal}:\n${complaints}`));
    });
    child.stdin.end(input);
  });
}

/** A program that answers each JSON line with one JSON line. */
export class Conversation {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;
  #complaints = '';

  constructor(program: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    this.#child = spawn(program, args, { env: { ...ENVIRONMENT, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#complaints = (this.#complaints + text).slice(-4000)));
    this.#reader = createInterface({ input: this.#child.stdout });
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  async next<T>(): Promise<T> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`the process ended:\n${this.#complaints}`);
    return JSON.parse(value) as T;
  }

  ask<T>(request: unknown): Promise<T> {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    return this.next<T>();
  }

  close(): void {
    this.#child.stdin.end();
  }
}
