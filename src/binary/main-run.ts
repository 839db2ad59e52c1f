import { isMainThread } from 'node:worker_threads';
import { setRuntimeFlags } from '../core/runtime-flags.ts';
import { becomeFirstProcess } from './first-process.ts';
import { WORKERS } from './workers.ts';

const COMMAND = 'run';

/**
 * The program of `holdfast-run`, which holds only what `holdfast run` needs. Its arguments are
 * those of `run`. It is copied into the pods of a training job, so it carries no Kubernetes client
 * and no database.
 */
async function start(): Promise<void> {
  if (!isMainThread) {
    await WORKERS[process.argv.at(-1) ?? '']?.();
    return;
  }
  becomeFirstProcess();
  setRuntimeFlags(COMMAND);
  const { runProcess } = await import('../cli/run-process.ts');
  const load = async () => (await import('../cli/commands/run/run.ts')).run;
  await runProcess(
    [{ name: COMMAND, summary: 'Run a trainer so that interruptions cost little', load }],
    [COMMAND, ...process.argv.slice(2)],
  );
}

void start();
