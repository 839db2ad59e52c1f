import type { Clock } from '../../core/clock.ts';
import { HoldfastError, systemCode, toError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-codes.ts';
import { exitCodeOf, Lifecycle, type SignalSource, type StopSignal } from '../../core/lifecycle.ts';
import { excerpt, printable } from '../../core/printable.ts';
import type { Command, CommandEntry, Invocation } from './command.ts';
import { GLOBAL_OPTIONS } from './global-options.ts';
import { createOutput, type Output } from '../output/output.ts';
import { printError } from '../output/print-error.ts';
import { flushed, type TextStream } from '../output/stream.ts';
import { checkOperands, indexOfFirstOperand, parseCommandLine } from './parse.ts';
import { didYouMean } from './suggest.ts';

/** The parts of the world that a command line uses. */
export interface NodeFacts {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signals: SignalSource;
  readonly clock: Clock;
  readonly commands: readonly CommandEntry[];
  /** Called when the process will not exit by itself. */
  readonly cannotEnd: () => void;
}

/**
 * Runs one command line from its arguments to its exit code. Never rejects: every error is printed
 * and has its code.
 */
export async function runCli(args: readonly string[], world: NodeFacts): Promise<number> {
  const life = new Lifecycle(world.signals);
  let isOurs = true;
  const takeSignals = (): StopSignal | null => {
    isOurs = false;
    return life.handOver();
  };
  try {
    watchStreams(world, life);
    return await life.run(async (signal) => {
      const code = await dispatch(args, world, { signal, takeSignals, whileBusy: life.whileBusy });
      // The output of a supervisor belongs to its trainer. A closed terminal is no reason for
      // another exit code.
      if (isOurs) await flushed(world.stdout);
      return code;
    });
  } catch (thrown) {
    // The options themselves may be wrong, so these two are searched for in the raw arguments.
    const own = ownArguments(args);
    printError(thrown, { ...world, asJson: own.includes('--json'), noColor: own.includes('--no-color') });
    return exitCodeOf(thrown);
  } finally {
    life[Symbol.dispose]();
  }
}

/** Words after `--` are not Holdfast's: options of a trainer, names of files. */
function ownArguments(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end < 0 ? args : args.slice(0, end);
}

type Life = Pick<Invocation, 'signal' | 'takeSignals' | 'whileBusy'>;

/** The words of a command line. */
interface Words {
  /** Without those that name the command. */
  readonly args: readonly string[];
  readonly all: readonly string[];
}

async function dispatch(args: readonly string[], world: NodeFacts, life: Life): Promise<number> {
  const { commands } = world;
  const at = indexOfFirstOperand(args, GLOBAL_OPTIONS);
  if (at < 0) return withoutCommand(args, world);
  const name = args[at] ?? '';
  const entry = commands.find((known) => known.name === name);
  if (entry === undefined) throw unknownCommand(name, commands);
  const rest = [...args.slice(0, at), ...args.slice(at + 1)];
  return entry.verbs === undefined
    ? runEntry(entry, { args: rest, all: args }, world, life)
    : runVerb(entry, { args: rest, all: args }, world, life);
}

/** `holdfast queue status`: the second word names the command. */
async function runVerb(group: CommandEntry, { args, all }: Words, world: NodeFacts, life: Life): Promise<number> {
  const verbs = (await group.verbs?.()) ?? [];
  const at = indexOfFirstOperand(args, GLOBAL_OPTIONS);
  if (at < 0) return withoutVerb(group, verbs, args, world);
  const word = args[at] ?? '';
  const entry = verbs.find(({ name }) => name === `${group.name} ${word}`);
  if (entry === undefined) {
    const words = verbs.map(({ name }) => name.slice(group.name.length + 1));
    throw new HoldfastError('USAGE', {
      message: `unknown command "${group.name} ${excerpt(word, 40)}".${didYouMean(word, words, `${group.name} `)}`,
      hint: `\`holdfast help ${group.name}\` lists the commands.`,
    });
  }
  return runEntry(entry, { args: [...args.slice(0, at), ...args.slice(at + 1)], all }, world, life);
}

async function withoutVerb(
  group: CommandEntry,
  verbs: readonly CommandEntry[],
  args: readonly string[],
  world: NodeFacts,
): Promise<number> {
  const { values } = parseCommandLine(args, GLOBAL_OPTIONS);
  const { overviewData, verbHelp } = await import('./help.ts');
  const output = createOutput({ ...world, values });
  if (values.version) return printVersion(output);
  if (values.help && output.json) output.printJson(overviewData(verbs));
  else if (values.help) output.print(...verbHelp(group, verbs, output));
  else world.stderr.write(`${verbHelp(group, verbs, createOutput({ ...world, stdout: world.stderr, values })).join('\n')}\n`);
  return values.help ? EXIT.ok : EXIT.usage;
}

async function runEntry(entry: CommandEntry, { args, all }: Words, world: NodeFacts, life: Life): Promise<number> {
  const { commands } = world;
  const command = await entry.load();
  const { clock, env, cannotEnd } = world;
  let hasTakenOver = false;
  const takeSignals = (): StopSignal | null => {
    hasTakenOver = true;
    return life.takeSignals();
  };
  try {
    const { values, operands } = parseCommandLine(args, { ...GLOBAL_OPTIONS, ...command.options });
    const output = createOutput({ ...world, values });
    if (values.help) return await help(output, entry, command);
    if (values.version) return await printVersion(output);
    checkOperands(operands, command.operand);
    try {
      return await command.run({ values, operands, output, clock, env, ...life, takeSignals, cannotEnd, commands });
    } finally {
      output.progress.clear();
    }
  } catch (thrown) {
    if (!hasTakenOver) await command.onRefused?.(thrown, { clock, env, args: ownArguments(all) });
    throw withHint(asReplaced(thrown), entry.name);
  }
}

/** `holdfast`, `holdfast --help`, `holdfast --version --json`: options, but no command. */
async function withoutCommand(args: readonly string[], world: NodeFacts): Promise<number> {
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

/**
 * A folder that another process replaced while the command worked: no later look-up finds it, and
 * that is no defect. Commands check the kind of each folder before they use it.
 */
function asReplaced(thrown: unknown): unknown {
  if (thrown instanceof HoldfastError || !['ENOTDIR', 'ELOOP'].includes(systemCode(thrown) ?? '')) return thrown;
  return new HoldfastError('PATH_NOT_SUPPORTED', {
    message: `a link or a file replaced a folder while the command worked (${printable(toError(thrown).message)})`,
    hint: 'Nothing behind it was read or changed. Find the process that replaces it, then run the command again.',
    cause: thrown,
  });
}

/** A usage error of a command names the help of that command. */
function withHint(thrown: unknown, name: string): unknown {
  if (!(thrown instanceof HoldfastError) || thrown.code !== 'USAGE' || thrown.hint !== undefined) return thrown;
  return new HoldfastError('USAGE', {
    message: thrown.message,
    hint: `\`holdfast help ${name}\` shows its options and examples.`,
    cause: thrown,
  });
}

/**
 * If the reader closed the pipe, the command ends quietly. Output lost for another reason is an
 * error.
 */
function watchStreams({ stdout, stderr }: NodeFacts, life: Lifecycle): void {
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
