import { isMainThread } from 'node:worker_threads';
import { becomeFirstProcess } from './first-process.ts';
import { WORKERS } from './workers.ts';

/** The one program of the executable: the command line, or on another thread, the worker that its first argument names. */
async function start(): Promise<void> {
  if (!isMainThread) {
    await WORKERS[process.argv.at(-1) ?? '']?.();
    return;
  }
  becomeFirstProcess();
  const { runProcess } = await import('../cli/run-process.ts');
  await runProcess();
}

void start();
