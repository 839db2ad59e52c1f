import { EventEmitter } from 'node:events';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { runCli } from '../../src/cli/frame/run-cli.ts';
import { type Clock, VirtualClock } from '../../src/core/clock.ts';
import { memoryStream } from './memory-stream.ts';

interface CommandWorld {
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
}

/**
 * Runs a command line of Holdfast inside this process, with pipes as streams and by default an
 * empty environment.
 */
export async function runCommand(
  args: readonly string[],
  { env = {}, clock = new VirtualClock() }: CommandWorld = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const [stdout, stderr] = [memoryStream(), memoryStream()];
  const signals = Object.assign(new EventEmitter(), { exit() {} });
  const code = await runCli(args, { stdout, stderr, env, signals, clock, commands: COMMANDS, cannotEnd: () => {} });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}
