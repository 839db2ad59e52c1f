import type { ExitCode } from '../core/exit-codes.ts';
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

export type Option = Flag | Choice;
/** Options by the name users write after `--`. */
export type OptionTable = Readonly<Record<string, Option>>;

export type OptionValues<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Choice<infer Word>
    ? Table[Name] extends { readonly default: string }
      ? Word
      : Word | null
    : boolean;
};

/** What a command takes besides options. */
export interface Operand {
  /** As shown in the usage line: `PATH`. */
  readonly name: string;
  readonly description: string;
  readonly count: 'one' | 'optional' | 'many';
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
  /** Aborted when the command shall end early; its reason is the error to end with. */
  readonly signal: AbortSignal;
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
  run(invocation: Invocation<Table>): Promise<ExitCode>;
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
