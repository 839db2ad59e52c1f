import type { CommandEntry, Operand, Option, OptionTable } from '../command.ts';
import { GLOBAL_OPTIONS } from '../global-options.ts';

/** The input for the completion scripts of all shells. */
export interface CompletionModel {
  readonly commands: readonly CompletedCommand[];
  readonly globalOptions: readonly CompletedOption[];
}

/** A command, as the completion scripts need it. */
export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  readonly operand: CompletedOperand;
  /** The commands below this one; their names are the last words alone. */
  readonly verbs: readonly CompletedCommand[];
}

/** An option, as the completion scripts need it. */
export interface CompletedOption {
  readonly name: string;
  readonly short: string | null;
  readonly description: string;
  /** The value of the option: its name for people, and the words to offer. Null for a flag. */
  readonly value: { readonly name: string; readonly words: readonly string[] } | null;
}

/** The words or paths that a shell offers for an operand. */
export type CompletedOperand =
  | { readonly kind: 'none' }
  | { readonly kind: 'paths'; readonly many: boolean }
  | { readonly kind: 'words'; readonly words: readonly string[] }
  /** The lines that `holdfast …` prints at the moment of completion. */
  | { readonly kind: 'lines'; readonly line: string };

/**
 * Gathers the definitions of all commands. Loads their files, which are light, and none of their
 * libraries.
 */
export async function describeCommands(entries: readonly CommandEntry[]): Promise<CompletionModel> {
  const commands = await Promise.all(entries.map((entry) => describeCommand(entry, entries)));
  return { commands, globalOptions: describeOptions(GLOBAL_OPTIONS) };
}

async function describeCommand(entry: CommandEntry, entries: readonly CommandEntry[]): Promise<CompletedCommand> {
  const { options, operand } = await entry.load();
  const below = (await entry.verbs?.()) ?? [];
  return {
    name: entry.name.split(' ').at(-1) ?? '',
    summary: entry.summary,
    options: describeOptions(options),
    operand: describeOperand(operand, entries),
    verbs: await Promise.all(below.map((verb) => describeCommand(verb, entries))),
  };
}

function describeOptions(table: OptionTable): CompletedOption[] {
  return Object.entries(table).map(([name, option]) => ({
    name,
    short: option.short ?? null,
    description: option.description,
    value: describeValue(name, option),
  }));
}

function describeValue(name: string, option: Option): CompletedOption['value'] {
  if (option.kind === 'flag') return null;
  return option.kind === 'choice' ? { name, words: option.choices } : { name: option.value, words: [] };
}

function describeOperand(operand: Operand | null, entries: readonly CommandEntry[]): CompletedOperand {
  if (operand === null) return { kind: 'none' };
  const { complete } = operand;
  if (complete === 'paths') return { kind: 'paths', many: operand.count !== 'one' && operand.count !== 'optional' };
  if ('commandsAnd' in complete) return { kind: 'words', words: [...entries.map(({ name }) => name), ...complete.commandsAnd] };
  return 'words' in complete ? { kind: 'words', words: complete.words } : { kind: 'lines', line: complete.lines };
}

/** The text as one single-quoted word of a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
