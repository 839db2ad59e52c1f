import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { withCompileCache } from '../compile-cache.ts';
import type { Job } from './job.ts';

export type JobEnd = 'done' | 'killed' | `failed: ${string}`;

/** Processes that wait for jobs. A process that was killed during a job is replaced on demand. */
export class WriterPool implements AsyncDisposable {
  readonly #script = fileURLToPath(new URL('writer.ts', import.meta.url));
  readonly #processes: (ChildProcess | null)[] = [];

  /** Runs the jobs at the same time, each in a process of its own. */
  run(jobs: readonly Job[]): Promise<JobEnd[]> {
    return Promise.all(jobs.map((job, slot) => this.#runOne(job, slot)));
  }

  #runOne(job: Job, slot: number): Promise<JobEnd> {
    const child = this.#processes[slot] ?? fork(this.#script, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], env: withCompileCache() });
    this.#processes[slot] = child;
    return new Promise((resolve, reject) => {
      const settle = (end: JobEnd): void => {
        child.removeAllListeners();
        if (end === 'killed') this.#processes[slot] = null;
        resolve(end);
      };
      child.once('message', (message) => settle(message as JobEnd));
      child.once('exit', () => settle('killed'));
      child.once('error', reject);
      child.send(job);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#processes) {
      if (child === null) continue;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await gone;
    }
  }
}
