import { EXIT, EXIT_MEANINGS } from '../../core/exit-codes.ts';
import type { Command, CommandEntry, Operand, Option, OptionTable } from './command.ts';
import { GLOBAL_OPTIONS } from './global-options.ts';
import type { Output } from '../output/output.ts';
import { renderList, wrap } from '../output/table.ts';

type Page = Pick<Output, 'style' | 'columns'>;

/** `holdfast help`: the overview of commands and topics. */
export function overview(commands: readonly CommandEntry[], { style, columns }: Page): string[] {
  return [
    `${style.bold('holdfast')} keeps training runs alive through interruptions, and proves that it does.`,
    '',
    style.bold('Usage:'),
    '  holdfast COMMAND [OPTION…] [ARGUMENT…]',
    '',
    style.bold('Commands:'),
    ...renderList(
      commands.map(({ name, summary }) => [name, summary]),
      columns,
    ),
    '',
    style.bold('Options of every command:'),
    ...optionLines(GLOBAL_OPTIONS, columns),
    '',
    style.bold('More:'),
    ...renderList(
      [
        ['holdfast help COMMAND', 'options and examples of a command'],
        ['holdfast help exit-codes', 'what each exit code means'],
        ['holdfast explain', 'every verdict, code and cause that Holdfast prints'],
      ],
      columns,
    ),
  ];
}

/** `holdfast help COMMAND`: everything about one command. */
export function commandHelp(entry: CommandEntry, command: Command, { style, columns }: Page): string[] {
  const { operand, options, examples } = command;
  return [
    `${style.bold(`holdfast ${entry.name}`)}: ${entry.summary}`,
    '',
    style.bold('Usage:'),
    `  holdfast ${entry.name} [OPTION…]${operand === null ? '' : ` ${operandUsage(operand)}`}`,
    '',
    ...command.description.split('\n').flatMap((paragraph) => wrap(paragraph, columns)),
    ...(operand === null ? [] : ['', style.bold('Arguments:'), ...renderList([[operand.name, operand.description]], columns)]),
    ...(Object.keys(options).length === 0 ? [] : ['', style.bold('Options:'), ...optionLines(options, columns)]),
    '',
    style.bold('Options of every command:'),
    ...optionLines(GLOBAL_OPTIONS, columns),
    '',
    style.bold('Examples:'),
    ...examples.flatMap(({ line, description }) => [`  ${style.dim(`# ${description}`)}`, `  holdfast ${line}`]),
  ];
}

/** `holdfast help queue`: the commands below a command. */
export function verbHelp(entry: CommandEntry, verbs: readonly CommandEntry[], { style, columns }: Page): string[] {
  return [
    `${style.bold(`holdfast ${entry.name}`)}: ${entry.summary}`,
    '',
    style.bold('Usage:'),
    `  holdfast ${entry.name} COMMAND [OPTION…] [ARGUMENT…]`,
    '',
    style.bold('Commands:'),
    ...renderList(
      verbs.map(({ name, summary }) => [name, summary]),
      columns,
    ),
    '',
    style.bold('More:'),
    ...renderList([[`holdfast help ${entry.name} COMMAND`, 'options and examples of one of them']], columns),
  ];
}

/** The overview as data, for `--json`. */
export function overviewData(commands: readonly CommandEntry[]) {
  return { commands: commands.map(({ name, summary }) => ({ name, summary })), options: GLOBAL_OPTIONS };
}

/** Everything about one command as data, for `--json`. */
export function commandData({ name, summary }: CommandEntry, { description, operand, options, examples }: Command) {
  return { name, summary, description, operand, options: { ...options, ...GLOBAL_OPTIONS }, examples };
}

/** `holdfast help exit-codes`. */
export function exitCodeHelp({ style, columns }: Page): string[] {
  const items = exitCodeTable().map(({ code, meaning }) => [String(code), meaning] as const);
  return [style.bold('Exit codes of every command:'), ...renderList(items, columns)];
}

/** The exit codes in ascending order, for help, JSON and the reference. */
export function exitCodeTable(): { readonly code: number; readonly name: string; readonly meaning: string }[] {
  return (Object.keys(EXIT) as (keyof typeof EXIT)[])
    .map((name) => ({ code: EXIT[name], name, meaning: EXIT_MEANINGS[name] }))
    .sort((a, b) => a.code - b.code);
}

function operandUsage({ name, count, isAfterDashes = false }: Operand): string {
  if (isAfterDashes) return `-- ${name}…`;
  if (count === 'any') return `[${name}…]`;
  return count === 'many' ? `${name}…` : count === 'optional' ? `[${name}]` : name;
}

function optionLines(options: OptionTable, columns: number): string[] {
  return renderList(
    Object.entries(options).map(([name, option]) => [optionTerm(name, option), optionText(option)]),
    columns,
  );
}

function optionTerm(name: string, option: Option): string {
  const short = option.short === undefined ? '    ' : `-${option.short}, `;
  if (option.kind === 'flag') return `${short}--${name}`;
  return `${short}--${name}=${option.kind === 'choice' ? option.choices.join('|') : option.value}`;
}

function optionText(option: Option): string {
  return option.kind !== 'flag' && option.default !== undefined ? `${option.description} [${option.default}]` : option.description;
}
