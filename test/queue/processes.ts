import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/run-process.ts';

/**
 * The pinned runtime, without the launcher's shell in front: a signal must reach the program
 * itself.
 */
const MAIN = join(ROOT, 'src/cli/main.ts');
const RUNTIME = ['--disable-warning=ExperimentalWarning', MAIN];

/** A running program that tests recognise by its output. */
export class Running implements AsyncDisposable {
  readonly child: ChildProcess;
  /** Its exit code, once all that it printed was read. */
  readonly ended: Promise<number | null>;
  stdout = '';
  stderr = '';

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = once(child, 'close').then(([code]) => code as number | null);
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  signal(name: NodeJS.Signals): void {
    if (!this.hasEnded) this.child.kill(name);
  }

  async end(name: NodeJS.Signals): Promise<void> {
    this.signal(name);
    await this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
  }
}

/** A server, started as users start it. */
export class ServerProcess extends Running {
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    super(child);
    this.url = url;
  }

  /**
   * Starts a server and waits for its address. `before` stands in front of the command, such as a
   * tracer.
   */
  static async start(args: readonly string[], before: readonly string[] = []): Promise<ServerProcess> {
    const [file = '', ...rest] = [...before, process.execPath, ...RUNTIME, 'queue', 'serve', ...args];
    const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env['PATH'] } });
    let [printed, said] = ['', ''];
    child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.on('data', (piece: Buffer) => {
        printed += piece.toString();
        if (printed.includes('\n')) resolve(printed.split('\n')[0] ?? '');
      });
      child.on('close', () => reject(new Error(`the server ended: ${said}`)));
      child.on('error', reject);
    });
    return new ServerProcess(child, url);
  }

  /**
   * Also signals the server behind a tracer, because killing the tracer alone would let the server
   * continue.
   */
  override signal(name: NodeJS.Signals): void {
    const { pid } = this.child;
    if (this.hasEnded || pid === undefined) return;
    const below = this.child.spawnfile === process.execPath ? [] : readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    const own = below.filter((one) => one !== '').map(Number);
    for (const one of own.length > 0 ? own : [pid]) process.kill(one, name);
  }
}

/** Runs a queue command until it ends. */
export async function queueCommand(
  url: string,
  args: readonly string[],
  input?: string,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'], HOLDFAST_QUEUE_URL: url };
  const child = spawn(process.execPath, [...RUNTIME, 'queue', ...args], { stdio: ['pipe', 'pipe', 'pipe'], env });
  const running = new Running(child);
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  await once(child, 'close');
  return { code: child.exitCode, stdout: running.stdout, stderr: running.stderr };
}

/** Starts a worker written in Python. Its standard output and error are collected. */
export function pythonWorker(url: string, script: string, env: Readonly<Record<string, string>> = {}): Running {
  const child = spawn('python3', ['-c', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOLDFAST_QUEUE_URL: url, PYTHONPATH: join(ROOT, 'python'), PYTHONDONTWRITEBYTECODE: '1', ...env },
  });
  return new Running(child);
}
