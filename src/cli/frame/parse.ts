import { parseArgs } from 'node:util';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';
import type { Option, Operand, OptionTable, OptionValues, Value } from './command.ts';
import { didYouMean, suggest } from './suggest.ts';

interface CommandLine<Table extends OptionTable> {
  readonly values: OptionValues<Table>;
  readonly operands: readonly string[];
}

interface OptionToken {
  readonly name: string;
  /** The option as the user wrote it: `--deep`, `-q`. */
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/**
 * Parses the arguments of a command by its table. Any other argument is a USAGE error that names
 * the nearest valid one.
 */
export function parseCommandLine<const Table extends OptionTable>(args: readonly string[], table: Table): CommandLine<Table> {
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(table)) values[name] = valueWhenNotGiven(name, option);
  const operands: string[] = [];
  for (const token of tokenize(args, table)) {
    if (token.kind === 'positional') operands.push(token.value);
    else if (token.kind === 'option') values[token.name] = valueOf(token, table);
  }
  return { values: values as OptionValues<Table>, operands };
}

/**
 * Where the first operand stands in the arguments, or -1; options of the table that take a value do
 * not hide it.
 */
export function indexOfFirstOperand(args: readonly string[], table: OptionTable): number {
  return tokenize(args, table).find(({ kind }) => kind === 'positional')?.index ?? -1;
}

function tokenize(args: readonly string[], table: OptionTable) {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { kind, short }]) => [
      name,
      { type: kind === 'flag' ? ('boolean' as const) : ('string' as const), ...(short === undefined ? {} : { short }) },
    ]),
  );
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

function valueWhenNotGiven(name: string, option: Option): unknown {
  if (option.kind === 'flag') return false;
  if (option.kind === 'choice') return option.default ?? null;
  return option.default === undefined ? null : ownValue({ name, rawName: `--${name}`, value: option.default }, option);
}

function valueOf(token: OptionToken, table: OptionTable): unknown {
  const option = Object.hasOwn(table, token.name) ? table[token.name] : undefined;
  if (option === undefined) throw unknownOption(token, table);
  switch (option.kind) {
    case 'flag':
      return flagValue(token);
    case 'choice':
      return choiceValue(token, option);
    case 'value':
      return ownValue(token, option);
  }
}

function flagValue({ rawName, value }: OptionToken): true {
  if (value === undefined) return true;
  throw usage(`option ${rawName} takes no value, but got "${excerpt(value, 40)}"`);
}

function choiceValue({ rawName, value, inlineValue }: OptionToken, option: Option & { kind: 'choice' }): string {
  const list = option.choices.join(', ');
  if (value === undefined || isNextOption(value, inlineValue)) throw usage(`option ${rawName} needs a value: ${list}`);
  if (option.choices.includes(value)) return value;
  throw usage(`option ${rawName} is one of ${list}, not "${excerpt(value, 40)}".${didYouMean(value, option.choices)}`);
}

function ownValue({ rawName, value, inlineValue }: OptionToken, option: Value): unknown {
  if (value === undefined || isNextOption(value, inlineValue)) throw usage(`option ${rawName} needs a value: ${option.value}`);
  const read = option.parse(value);
  if (read.ok) return read.value;
  throw usage(`option ${rawName}: ${read.reason}`);
}

/**
 * `--require --deep`: the word after an option that looks like the next option is not its value;
 * `-` is one, for standard input.
 */
function isNextOption(value: string, inlineValue: boolean | undefined): boolean {
  return inlineValue === false && value.startsWith('-') && value !== '-';
}

function unknownOption({ name, rawName }: OptionToken, table: OptionTable): HoldfastError {
  const shown = excerpt(rawName, 40);
  const meant = suggest(name, Object.keys(table));
  if (meant !== null) return usage(`unknown option ${shown}. Did you mean --${meant}?`);
  return usage(`unknown option ${shown}`, 'a path that begins with a dash, and the options of a trainer, go after --');
}

const MOST: Readonly<Record<Operand['count'], number>> = { one: 1, optional: 1, two: 2, many: Infinity, any: Infinity };

/** Checks the operands against the command's definition. */
export function checkOperands(operands: readonly string[], operand: Operand | null): void {
  const most = operand === null ? 0 : MOST[operand.count];
  if (operands.length > most) throw usage(`"${excerpt(operands[most] ?? '', 40)}" is one argument too many`);
  if (operand !== null && operand.count !== 'optional' && operand.count !== 'any' && operands.length === 0) {
    throw usage(`${operand.name} is missing: ${operand.description}`);
  }
}

function usage(message: string, hint?: string): HoldfastError {
  return new HoldfastError('USAGE', hint === undefined ? { message } : { message, hint });
}
