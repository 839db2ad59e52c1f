import { isMainThread } from 'node:worker_threads';
import { setRuntimeFlags } from '../core/runtime-flags.ts';
import { becomeFirstProcess } from './first-process.ts';
import { WORKERS } from './workers.ts';

/**
 * The one program of the executable: the command line, or on another thread, the worker that its
 * first argument names.
 */
async function start(): Promise<void> {
  if (!isMainThread) {
    await WORKERS[process.argv.at(-1) ?? '']?.();
    return;
  }
  becomeFirstProcess();
  setRuntimeFlags(process.argv[2]);
  const [{ runProcess }, { COMMANDS }] = await Promise.all([import('../cli/run-process.ts'), import('../cli/commands/index.ts')]);
  await runProcess(COMMANDS);
}

void start();
