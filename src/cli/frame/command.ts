import type { Clock } from '../../core/clock.ts';
import type { StopSignal, WhileBusy } from '../../core/lifecycle.ts';
import type { Parsed } from '../../core/parsed.ts';
import type { Output } from '../output/output.ts';

interface AnyOption {
  /**
   * One or two sentences, the last without a full stop. Help, completion and the reference use it.
   */
  readonly description: string;
  /** One letter, for `-q`. */
  readonly short?: string;
}

/** An option without a value: given or not. */
export interface Flag extends AnyOption {
  readonly kind: 'flag';
}

/** An option whose value is one word of a list. */
export interface Choice<Word extends string = string> extends AnyOption {
  readonly kind: 'choice';
  readonly choices: readonly Word[];
  readonly default?: Word;
}

/** An option whose value the command parses itself: a size, a count, a duration. */
export interface Value<T = unknown> extends AnyOption {
  readonly kind: 'value';
  /** The placeholder in help: `SIZE`. */
  readonly value: string;
  /** Parses the user's value. The reason of a refusal follows the name of the option. */
  readonly parse: (text: string) => Parsed<T>;
  /** The default, as a user would write it. Without a default, an omitted option is null. */
  readonly default?: string;
}

/** An option of a command. */
export type Option = Flag | Choice | Value;
/** Options by the name users write after `--`. */
export type OptionTable = Readonly<Record<string, Option>>;

/** The parsed value of each option of a table. */
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

/** The operands that a command takes. */
export interface Operand {
  /** The placeholder in the usage line: `PATH`; for two operands, `RUN URL`. */
  readonly name: string;
  readonly description: string;
  readonly count: 'one' | 'optional' | 'two' | 'many' | 'any';
  /** It is another command line, which stands after `--`. */
  readonly isAfterDashes?: boolean;
  /**
   * What a shell offers: paths, a fixed list, the names of commands and a few more, or the lines
   * that a holdfast command line prints.
   */
  readonly complete:
    | 'paths'
    | { readonly words: readonly string[] }
    | { readonly commandsAnd: readonly string[] }
    | { readonly lines: string };
}

/** An example in the help of a command. */
export interface Example {
  /** The command line, without `holdfast`. */
  readonly line: string;
  readonly description: string;
}

/** The context of a running command. */
export interface Invocation<Table extends OptionTable = OptionTable> {
  readonly values: OptionValues<Table>;
  readonly operands: readonly string[];
  readonly output: Output;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted to end the command early; its reason is the error to end with. */
  readonly signal: AbortSignal;
  /** For work that holds the thread and writes nothing: a signal ends the process at once. */
  readonly whileBusy: WhileBusy;
  /**
   * Hands the signals over to the command: from now on none of them aborts `signal`. Returns the
   * signal that came before, if any.
   */
  readonly takeSignals: () => StopSignal | null;
  /**
   * Reports that the process will not exit by itself after the command, because it waits for a
   * silent disk.
   */
  readonly cannotEnd: () => void;
  /** The table of all commands, for commands such as help and completion. */
  readonly commands: readonly CommandEntry[];
}

/**
 * A command as data, plus its action. The file of a definition stays light: `run` imports libraries
 * beyond `core` and `cli` when it starts. Help and completion of all commands therefore load no
 * library.
 */
export interface Command<Table extends OptionTable = OptionTable> {
  readonly description: string;
  readonly operand: Operand | null;
  readonly options: Table;
  readonly examples: readonly Example[];
  /**
   * Called on an error before the command handles signals itself, so nothing was started; `args`
   * excludes everything after `--`.
   */
  onRefused?(thrown: unknown, world: Pick<Invocation, 'clock' | 'env'> & { readonly args: readonly string[] }): Promise<void>;
  /**
   * Resolves to the exit code: one in core/exit-codes.ts, or the code of the program that the
   * command ran.
   */
  run(invocation: Invocation<Table>): Promise<number>;
}

/** One line of the table of commands; `load` imports the file of this command alone. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
  /** The commands below this one; the name of each begins with the name of this one and a space. */
  readonly verbs?: () => Promise<readonly CommandEntry[]>;
}

/** The table with the commands below others put in behind them. */
export async function withVerbs(entries: readonly CommandEntry[]): Promise<readonly CommandEntry[]> {
  const lists = await Promise.all(entries.map(async (entry) => [entry, ...((await entry.verbs?.()) ?? [])]));
  return lists.flat();
}

/** Types a command by its own option table. */
export function defineCommand<const Table extends OptionTable>(command: Command<Table>): Command<Table> {
  return command;
}
