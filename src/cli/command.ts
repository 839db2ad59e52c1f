import type { Clock } from '../core/clock.ts';
import type { StopSignal } from '../core/lifecycle.ts';
import type { Parsed } from '../core/parsed.ts';
import type { Output } from './output/output.ts';

interface AnyOption {
  /** One sentence without a full stop; help, completion and the reference are made from it. */
  readonly description: string;
  /** One letter, for `-q`. */
  readonly short?: string;
}

/** An option that is there or not. */
export interface Flag extends AnyOption {
  readonly kind: 'flag';
}

/** An option that takes one word of a list. */
export interface Choice<Word extends string = string> extends AnyOption {
  readonly kind: 'choice';
  readonly choices: readonly Word[];
  readonly default?: Word;
}

/** An option that takes a value of its own kind: a size, a count, a duration. */
export interface Value<T = unknown> extends AnyOption {
  readonly kind: 'value';
  /** As shown in help: `SIZE`. */
  readonly value: string;
  /** Reads what the user wrote; the reason of a refusal follows the name of the option. */
  readonly parse: (text: string) => Parsed<T>;
  /** As a user would write it; without one the option is null when it is not given. */
  readonly default?: string;
}

export type Option = Flag | Choice | Value;
/** Options by the name users write after `--`. */
export type OptionTable = Readonly<Record<string, Option>>;

export type OptionValues<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Choice<infer Word>
    ? Table[Name] extends { readonly default: string }
      ? Word
      : Word | null
    : Table[Name] extends Value<infer T>
      ? Table[Name] extends { readonly default: string }
        ? T
        : T | null
      : boolean;
};

/** What a command takes besides options. */
export interface Operand {
  /** As shown in the usage line: `PATH`; of two both, `RUN URL`. */
  readonly name: string;
  readonly description: string;
  readonly count: 'one' | 'optional' | 'two' | 'many';
  /** What a shell offers: paths, a fixed list, the names of commands and a few more, or the lines that a holdfast command line prints. */
  readonly complete:
    | 'paths'
    | { readonly words: readonly string[] }
    | { readonly commandsAnd: readonly string[] }
    | { readonly lines: string };
}

export interface Example {
  /** The command line, without `holdfast`. */
  readonly line: string;
  readonly description: string;
}

/** What a command is given when it runs. */
export interface Invocation<Table extends OptionTable = OptionTable> {
  readonly values: OptionValues<Table>;
  readonly operands: readonly string[];
  readonly output: Output;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted when the command shall end early; its reason is the error to end with. */
  readonly signal: AbortSignal;
  /** From now on the command answers signals itself: `signal` is not aborted by one any more. One that has come before is handed over with them. */
  readonly takeSignals: () => StopSignal | null;
  /** Tells that the process will not end by itself when the command is done: something in it waits for a disk that does not answer. */
  readonly cannotEnd: () => void;
  /** The table of all commands, for those that speak about the others. */
  readonly commands: readonly CommandEntry[];
}

/**
 * A command as data, plus what it does. The file of a definition stays light: what `run` needs beyond `core` and `cli` it imports
 * when it runs, so that help and completion of all commands load the library of none.
 */
export interface Command<Table extends OptionTable = OptionTable> {
  readonly description: string;
  readonly operand: Operand | null;
  readonly options: Table;
  readonly examples: readonly Example[];
  /** Told of an error that comes before the command answers signals itself, so that nothing was begun; `args` are without what follows `--`. */
  onRefused?(thrown: unknown, world: Pick<Invocation, 'clock' | 'env'> & { readonly args: readonly string[] }): Promise<void>;
  /** Resolves to the exit code: one of the table in core/exit-codes.ts, or for a command that runs another program, that of the program. */
  run(invocation: Invocation<Table>): Promise<number>;
}

/** One line of the table of commands; `load` brings in the file of this command and of no other. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
}

/** Types a command by its own option table. */
export function defineCommand<const Table extends OptionTable>(command: Command<Table>): Command<Table> {
  return command;
}
