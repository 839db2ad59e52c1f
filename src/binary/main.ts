import { setFlagsFromString } from 'node:v8';
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
  // As bin/holdfast has it, and why.
  if (process.argv[2] === 'run') for (const flag of ['--no-maglev', '--invocation-count-for-turbofan=100000']) setFlagsFromString(flag);
  const { runProcess } = await import('../cli/run-process.ts');
  await runProcess();
}

void start();
