import type { Clock } from '../core/clock.ts';
import { HoldfastError, systemCode } from '../core/errors.ts';
import { EXIT } from '../core/exit-codes.ts';
import { exitCodeOf, Lifecycle, type SignalSource, type StopSignal } from '../core/lifecycle.ts';
import { excerpt } from '../core/printable.ts';
import type { Command, CommandEntry, Invocation } from './command.ts';
import { GLOBAL_OPTIONS } from './global-options.ts';
import { createOutput, type Output } from './output/output.ts';
import { printError } from './output/print-error.ts';
import { flushed, type TextStream } from './output/stream.ts';
import { checkOperands, indexOfFirstOperand, parseCommandLine } from './parse.ts';
import { didYouMean } from './suggest.ts';

/** Everything a command line touches of the world. */
export interface Surroundings {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signals: SignalSource;
  readonly clock: Clock;
  readonly commands: readonly CommandEntry[];
  /** Told when the process will not end by itself. */
  readonly cannotEnd: () => void;
}

/** Runs one command line from its arguments to its exit code. Never rejects: every error is printed and has its code. */
export async function runCli(args: readonly string[], world: Surroundings): Promise<number> {
  const life = new Lifecycle(world.signals);
  let isOurs = true;
  const takeSignals = (): StopSignal | null => {
    isOurs = false;
    return life.handOver();
  };
  try {
    watchStreams(world, life);
    return await life.run(async (signal) => {
      const code = await dispatch(args, world, { signal, takeSignals });
      // The output of a supervisor is its trainer's: where that cannot be written any more, a terminal that was closed, is no reason for another exit code.
      if (isOurs) await flushed(world.stdout);
      return code;
    });
  } catch (thrown) {
    // The options may be the very thing that was wrong, so these two are looked up by eye.
    const own = ownArguments(args);
    printError(thrown, { ...world, asJson: own.includes('--json'), noColor: own.includes('--no-color') });
    return exitCodeOf(thrown);
  } finally {
    life[Symbol.dispose]();
  }
}

/** What stands behind `--` is not ours: the options of a trainer, the names of files. */
function ownArguments(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end < 0 ? args : args.slice(0, end);
}

async function dispatch(args: readonly string[], world: Surroundings, life: Pick<Invocation, 'signal' | 'takeSignals'>): Promise<number> {
  const { commands } = world;
  const at = indexOfFirstOperand(args, GLOBAL_OPTIONS);
  if (at < 0) return withoutCommand(args, world);
  const name = args[at] ?? '';
  const entry = commands.find((known) => known.name === name);
  if (entry === undefined) throw unknownCommand(name, commands);
  const command = await entry.load();
  const { clock, env, cannotEnd } = world;
  let hasTakenOver = false;
  const takeSignals = (): StopSignal | null => {
    hasTakenOver = true;
    return life.takeSignals();
  };
  try {
    const { values, operands } = parseCommandLine([...args.slice(0, at), ...args.slice(at + 1)], { ...GLOBAL_OPTIONS, ...command.options });
    const output = createOutput({ ...world, values });
    if (values.help) return await help(output, entry, command);
    if (values.version) return await printVersion(output);
    checkOperands(operands, command.operand);
    try {
      return await command.run({ values, operands, output, clock, env, signal: life.signal, takeSignals, cannotEnd, commands });
    } finally {
      output.progress.clear();
    }
  } catch (thrown) {
    if (!hasTakenOver) await command.onRefused?.(thrown, { clock, env, args: ownArguments(args) });
    throw withHint(thrown, name);
  }
}

/** `holdfast`, `holdfast --help`, `holdfast --version --json`: options, but no command. */
async function withoutCommand(args: readonly string[], world: Surroundings): Promise<number> {
  const { values } = parseCommandLine(args, GLOBAL_OPTIONS);
  const output = createOutput({ ...world, values });
  if (values.version) return printVersion(output);
  const { overview, overviewData } = await import('./help.ts');
  if (values.help) {
    if (output.json) output.printJson(overviewData(world.commands));
    else output.print(...overview(world.commands, output));
    return EXIT.ok;
  }
  world.stderr.write(`${overview(world.commands, createOutput({ ...world, stdout: world.stderr, values })).join('\n')}\n`);
  return EXIT.usage;
}

async function help(output: Output, entry: CommandEntry, command: Command): Promise<number> {
  const { commandData, commandHelp } = await import('./help.ts');
  if (output.json) output.printJson(commandData(entry, command));
  else output.print(...commandHelp(entry, command, output));
  return EXIT.ok;
}

async function printVersion(output: Output): Promise<number> {
  const { version } = await import('./version.ts');
  if (output.json) output.printJson({ version: version() });
  else output.print(`holdfast ${version()}`);
  return EXIT.ok;
}

function unknownCommand(name: string, commands: readonly CommandEntry[]): HoldfastError {
  const names = commands.map((known) => known.name);
  return new HoldfastError('USAGE', {
    message: `unknown command "${excerpt(name, 40)}".${didYouMean(name, names)}`,
    hint: '`holdfast help` lists the commands.',
  });
}

/** A usage error of a command says where its options are explained. */
function withHint(thrown: unknown, name: string): unknown {
  if (!(thrown instanceof HoldfastError) || thrown.code !== 'USAGE' || thrown.hint !== undefined) return thrown;
  return new HoldfastError('USAGE', {
    message: thrown.message,
    hint: `\`holdfast help ${name}\` shows its options and examples.`,
    cause: thrown,
  });
}

/** A reader that went away ends the command quietly; output that is lost for another reason is an error. */
function watchStreams({ stdout, stderr }: Surroundings, life: Lifecycle): void {
  stdout.on('error', (error) => {
    const code = systemCode(error);
    if (code === 'EPIPE') life.fail(new HoldfastError('OUTPUT_CLOSED', { message: 'standard output was closed', cause: error }));
    else
      life.fail(
        new HoldfastError('OUTPUT_FAILED', { message: `standard output cannot be written: ${code ?? error.message}`, cause: error }),
      );
  });
  // Notes and progress may be lost without harm.
  stderr.on('error', () => {});
}
