import { realClock } from '../core/clock.ts';
import { EXIT, type ExitCode } from '../core/exit-codes.ts';
import { ignoredSignals, withoutSignals } from '../core/ignored-signals.ts';
import { leaveAtOnce } from '../core/leave-at-once.ts';
import type { CommandEntry } from './frame/command.ts';
import { printError } from './output/print-error.ts';
import { runCli } from './frame/run-cli.ts';

/**
 * Runs the command line of this process. It sets the exit code and lets the process end by itself,
 * so that all output is written first. It exits at once only where the process could not end.
 */
export async function runProcess(commands: readonly CommandEntry[], args: readonly string[] = process.argv.slice(2)): Promise<void> {
  const { env, stdout, stderr } = process;
  // A damaged file can cause a hundred thousand errors, and only HOLDFAST_DEBUG shows their stacks.
  if ((env['HOLDFAST_DEBUG'] ?? '') === '') Error.stackTraceLimit = 0;
  process.on('uncaughtException', (error) => {
    // A command that must not end because of a defect listens itself.
    if (process.listenerCount('uncaughtException') > 1) return;
    printError(error, { stderr, env, asJson: false, noColor: false });
    process.exit(EXIT.internal);
  });
  const ignored = ignoredSignals(env);
  // Without a listener they would have their default effect.
  for (const name of ignored) process.on(name, () => {});
  const signals = { ...withoutSignals(process, ignored), isFirst: process.pid === 1, exit: (code: ExitCode) => process.exit(code) };
  let isStuck = false;
  const cannotEnd = (): void => void (isStuck = true);
  const code = await runCli(args, { stdout, stderr, env, signals, clock: realClock, commands, cannotEnd });
  process.exitCode = code;
  if (isStuck) leaveAtOnce(code);
}
