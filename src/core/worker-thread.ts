import { Worker } from 'node:worker_threads';
import { bounded } from './bounded.ts';
import type { Clock } from './clock.ts';

/** The data of a new thread, and the listeners for its messages and its end. */
export interface ThreadOptions<From> {
  /** The value that the program reads as `workerData`. */
  readonly data?: unknown;
  /** The limit of its heap, in MiB: old and young generation. */
  readonly heapMb: number;
  readonly youngMb?: number;
  readonly onMessage: (message: From) => void;
  /** Called when the thread has exited; `problem` is the error that it died of, or null. */
  readonly onExit: (problem: Error | null) => void;
}

/**
 * The URL of a program of Holdfast beside the module with this `import.meta.url`: TypeScript in a
 * clone, JavaScript once built.
 */
export function threadProgram(name: string, moduleUrl: string): URL {
  return new URL(`./${name}.${moduleUrl.endsWith('.ts') ? 'ts' : 'js'}`, moduleUrl);
}

/**
 * A program of Holdfast on its own thread. The process lives for the trainer or the command, so it
 * does not wait for the thread unless {@link hold} is called.
 */
export class WorkerThread<To, From> {
  readonly #worker: Worker;
  readonly #exited = Promise.withResolvers<void>();
  #isAlive = true;

  constructor(program: URL, { data, heapMb, youngMb, onMessage, onExit }: ThreadOptions<From>) {
    this.#worker = new Worker(program, {
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: heapMb, ...(youngMb === undefined ? {} : { maxYoungGenerationSizeMb: youngMb }) },
    });
    this.#worker.unref();
    let problem: Error | null = null;
    this.#worker.on('message', onMessage);
    this.#worker.on('error', (error: Error) => (problem = error));
    this.#worker.once('exit', () => {
      this.#isAlive = false;
      this.#exited.resolve();
      onExit(problem);
    });
  }

  /** False once the thread has exited. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Resolves when the thread has exited. */
  get exited(): Promise<void> {
    return this.#exited.promise;
  }

  /** Sends a message; a message to an exited thread is lost. */
  send(message: To): void {
    this.#worker.postMessage(message);
  }

  /** Makes the process wait for the thread until {@link letGo}. */
  hold(): void {
    this.#worker.ref();
  }

  /** Lets the process end without the thread again. */
  letGo(): void {
    this.#worker.unref();
  }

  /**
   * Ends the thread, whatever it does. Resolves when it has exited. A thread that waits in the
   * kernel for a silent disk does not exit.
   */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  /** The same within this time; false when the thread has not exited by then. */
  async end(patienceMs: number, clock: Clock): Promise<boolean> {
    const ended = this.terminate().then(() => true);
    return (await bounded(ended, patienceMs, clock)) ?? false;
  }
}
