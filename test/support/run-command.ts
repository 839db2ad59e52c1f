import { EventEmitter } from 'node:events';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { runCli } from '../../src/cli/run.ts';
import { VirtualClock } from '../../src/core/clock.ts';
import { memoryStream } from './memory-stream.ts';

/** Runs a command line of Holdfast inside this process; as from a pipe, with no environment. */
export async function runCommand(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const [stdout, stderr] = [memoryStream(), memoryStream()];
  const signals = Object.assign(new EventEmitter(), { exit() {} });
  const code = await runCli(args, { stdout, stderr, env: {}, signals, clock: new VirtualClock(), commands: COMMANDS, cannotEnd: () => {} });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}
