import { type MeasuredRun, measureProcess as measure } from '../../test/support/measure-process.ts';

/** Runs a command until it ends and measures it. Rejects an unexpected exit code. */
export async function measureProcess(command: readonly string[], expectedExit: readonly number[] = [0]): Promise<MeasuredRun> {
  const run = await measure(command);
  if (expectedExit.includes(run.code ?? -1)) return run;
  throw new Error(`${command.join(' ')} exited with ${run.code}: ${run.stderr.slice(0, 2000)}`);
}
