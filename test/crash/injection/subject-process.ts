import { type ChildProcess, fork, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { withCompileCache } from '../compile-cache.ts';
import type { Shape, Subject } from './subjects.ts';

export interface Order {
  readonly subject: Subject;
  readonly shape: Shape;
  /** Where `run` and `remote` lie. */
  readonly work: string;
  readonly isSabotaged: boolean;
}

export interface Answer {
  /** `failed`: with an error that a person cannot act on. */
  readonly end: 'answered' | 'refused' | 'failed';
  readonly reason: string;
}

export type End = Answer | { readonly end: 'killed' | 'hangs'; readonly reason: string };

/** The protocol runs on the first thread. The one thread of the pool copies to a folder. */
export type ThreadName = 'main' | 'pool';

const SCRIPT = fileURLToPath(new URL('subject.ts', import.meta.url));
/** Nothing here takes a second, but a busy machine may take a while to begin it. */
const PATIENCE_MS = 5 * 60_000;

/**
 * A process with all its code loaded, so that a trace of its threads shows only the ordered work.
 */
export class SubjectProcess {
  readonly #child: ChildProcess;
  #isGone = false;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.once('exit', () => (this.#isGone = true));
  }

  static async start(warmUp: Order): Promise<SubjectProcess> {
    // With one thread in the pool, the order of its calls does not depend on chance.
    const env = { ...withCompileCache(), UV_THREADPOOL_SIZE: '1' };
    const started = new SubjectProcess(fork(SCRIPT, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], env, execArgv: [] }));
    const { end, reason } = await started.#obey(warmUp);
    if (end !== 'answered') throw new Error(`the subject ${end} without any fault: ${reason}`);
    return started;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /**
   * Obeys under strace, which traces one thread with the given arguments; null if this thread does
   * not exist.
   */
  async obeyTraced(order: Order, thread: ThreadName, strace: readonly string[]): Promise<End | null> {
    const id = this.#threadId(thread);
    if (id === null) return null;
    const [program = 'strace', ...args] = strace;
    const tracer = spawn(program, ['-p', String(id), ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    const closed = new Promise((resolve) => tracer.once('close', resolve));
    await new Promise<void>((resolve, reject) => {
      let said = '';
      tracer.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (said.includes('attached')) resolve();
      });
      tracer.once('close', () => reject(new Error(`strace: ${said}`)));
    });
    const end = await this.#obey(order);
    tracer.kill('SIGINT');
    await closed;
    return end;
  }

  async close(): Promise<void> {
    if (this.#isGone) return;
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await gone;
  }

  async #obey(order: Order): Promise<End> {
    const { promise, resolve } = Promise.withResolvers<End>();
    const onAnswer = (answer: unknown): void => resolve(answer as Answer);
    const onExit = (code: number | null, signal: NodeJS.Signals | null): void =>
      resolve(signal === 'SIGKILL' ? { end: 'killed', reason: '' } : { end: 'failed', reason: `it ended with ${code ?? signal}` });
    const patience = setTimeout(() => resolve({ end: 'hangs', reason: `no answer within ${PATIENCE_MS / 1000} s` }), PATIENCE_MS);
    this.#child.once('message', onAnswer);
    this.#child.once('exit', onExit);
    this.#child.send(order);
    try {
      const end = await promise;
      if (end.end === 'hangs') await this.close();
      return end;
    } finally {
      clearTimeout(patience);
      this.#child.off('message', onAnswer);
      this.#child.off('exit', onExit);
    }
  }

  #threadId(thread: ThreadName): number | null {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error('the subject could not be started');
    if (thread === 'main') return pid;
    const task = `/proc/${pid}/task`;
    const id = readdirSync(task).find((one) => readFileSync(`${task}/${one}/comm`, 'utf8').startsWith('libuv-worker'));
    return id === undefined ? null : Number(id);
  }
}
