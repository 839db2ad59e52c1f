import type { CommandEntry, Operand, Option, OptionTable } from '../command.ts';
import { GLOBAL_OPTIONS } from '../global-options.ts';

/** What the scripts of all shells are made from. */
export interface CompletionModel {
  readonly commands: readonly CompletedCommand[];
  readonly globalOptions: readonly CompletedOption[];
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  readonly operand: CompletedOperand;
}

export interface CompletedOption {
  readonly name: string;
  readonly short: string | null;
  readonly description: string;
  /** What it takes: its name for people, and the words to offer; null for a flag. */
  readonly value: { readonly name: string; readonly words: readonly string[] } | null;
}

export type CompletedOperand =
  | { readonly kind: 'none' }
  | { readonly kind: 'paths'; readonly many: boolean }
  | { readonly kind: 'words'; readonly words: readonly string[] }
  /** The lines that `holdfast …` prints at the moment of completion. */
  | { readonly kind: 'lines'; readonly line: string };

/** Gathers the definitions of all commands. Loads their files, which are light, and no library behind them. */
export async function describeCommands(entries: readonly CommandEntry[]): Promise<CompletionModel> {
  const commands = entries.map(async (entry) => {
    const { name, summary } = entry;
    const { options, operand } = await entry.load();
    return { name, summary, options: describeOptions(options), operand: describeOperand(operand, entries) };
  });
  return { commands: await Promise.all(commands), globalOptions: describeOptions(GLOBAL_OPTIONS) };
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
  if (complete === 'paths') return { kind: 'paths', many: operand.count === 'many' || operand.count === 'two' };
  if ('commandsAnd' in complete) return { kind: 'words', words: [...entries.map(({ name }) => name), ...complete.commandsAnd] };
  return 'words' in complete ? { kind: 'words', words: complete.words } : { kind: 'lines', line: complete.lines };
}

/** The text as one single-quoted word of a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
