import { realClock } from '../core/clock.ts';
import { EXIT, type ExitCode } from '../core/exit-codes.ts';
import { ignoredSignals, withoutSignals } from '../core/ignored-signals.ts';
import { leaveAtOnce } from '../core/leave-at-once.ts';
import type { CommandEntry } from './command.ts';
import { COMMANDS } from './commands/index.ts';
import { printError } from './output/print-error.ts';
import { runCli } from './run.ts';

/**
 * Runs the command line of this process. The exit code is set, not forced, so that everything printed gets out first; forced is it only where
 * the process could not end otherwise.
 */
export async function runProcess(commands: readonly CommandEntry[] = COMMANDS): Promise<void> {
  const { argv, env, stdout, stderr } = process;
  // Damaged files make errors by the hundred thousand, and where they arose is shown only to who asks.
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
  const signals = { ...withoutSignals(process, ignored), exit: (code: ExitCode) => process.exit(code) };
  let isStuck = false;
  const cannotEnd = (): void => void (isStuck = true);
  const code = await runCli(argv.slice(2), { stdout, stderr, env, signals, clock: realClock, commands, cannotEnd });
  process.exitCode = code;
  if (isStuck) leaveAtOnce(code);
}
