import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt } from '../../core/printable.ts';

/** A parameter of a trial: its name, and its value as the file writes it. */
export interface Parameter {
  readonly name: string;
  readonly value: string;
}

/** One run of a sweep. */
export interface Trial {
  /** Its place in the grid, from 0. */
  readonly index: number;
  /** How many trials the grid has. */
  readonly count: number;
  /** Names its folder: the index, then the parameters. */
  readonly name: string;
  readonly parameters: readonly Parameter[];
}

/** The parameters of a sweep: all combinations of some values, or rows that the user wrote. */
export type Grid =
  | { readonly kind: 'product'; readonly axes: readonly { readonly name: string; readonly values: readonly string[] }[] }
  | { readonly kind: 'rows'; readonly rows: readonly (readonly Parameter[])[] };

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/;
/** The placeholders that every run has. */
const RESERVED: ReadonlySet<string> = new Set(['trial', 'scheduled']);
const MOST_PARAMETERS = 50;
const MOST_VALUES = 10_000;
const MOST_CHARACTERS = 200;
const MOST_TRIALS = 1_000_000;
/** File systems allow 255 bytes. The rest is for suffixes. */
const NAME_CHARACTERS = 120;
const RULE = 'a grid is a mapping from parameters to lists of values, or a list of mappings';

/** How many trials a grid has. */
export function trialsOf(grid: Grid): number {
  return grid.kind === 'rows' ? grid.rows.length : grid.axes.reduce((count, { values }) => count * values.length, 1);
}

/** Reads a grid from a parsed file. The reason of a refusal is a whole sentence. */
export function parseGrid(value: unknown): Parsed<Grid> {
  const grid = Array.isArray(value) ? rowsOf(value) : isMapping(value) ? axesOf(value) : refused(`${RULE}; it is neither`);
  if (!grid.ok) return grid;
  const count = trialsOf(grid.value);
  if (count === 0) return refused('the grid has no trial');
  return count > MOST_TRIALS ? refused(`the grid has ${count} trials, at most ${MOST_TRIALS} are allowed`) : grid;
}

/** Picks a trial. In a product, the last parameter changes fastest. */
export function trialOf(grid: Grid, index: number): Parsed<Trial> {
  const count = trialsOf(grid);
  if (!Number.isSafeInteger(index) || index < 0 || index >= count) {
    return refused(`trial ${index} is not in the grid, which has the trials 0 to ${count - 1}`);
  }
  const parameters = grid.kind === 'rows' ? (grid.rows[index] ?? []) : combination(grid.axes, index);
  return parsed({ index, count, name: nameOf(index, count, parameters), parameters });
}

function rowsOf(list: readonly unknown[]): Parsed<Grid> {
  const rows: (readonly Parameter[])[] = [];
  for (const [index, row] of list.entries()) {
    if (!isMapping(row)) return refused(`row ${index} is no mapping: ${RULE}`);
    const problem = namesProblem(Object.keys(row));
    if (problem !== null) return refused(`row ${index}: ${problem}`);
    const parameters: Parameter[] = [];
    for (const [name, value] of Object.entries(row)) {
      const text = textOf(value);
      if (text === null) return refused(`row ${index}: ${valueProblem(name)}`);
      parameters.push({ name, value: text });
    }
    rows.push(parameters);
  }
  return parsed({ kind: 'rows', rows });
}

function axesOf(mapping: Readonly<Record<string, unknown>>): Parsed<Grid> {
  const problem = namesProblem(Object.keys(mapping));
  if (problem !== null) return refused(problem);
  const axes: { readonly name: string; readonly values: readonly string[] }[] = [];
  for (const [name, listed] of Object.entries(mapping)) {
    const list: readonly unknown[] = Array.isArray(listed) ? listed : [listed];
    if (list.length > MOST_VALUES) return refused(`parameter ${name} has ${list.length} values, at most ${MOST_VALUES} are allowed`);
    const values = list.map(textOf);
    if (values.includes(null)) return refused(valueProblem(name));
    axes.push({ name, values: values.filter((text) => text !== null) });
  }
  return parsed({ kind: 'product', axes });
}

function namesProblem(names: readonly string[]): string | null {
  if (names.length === 0) return 'it has no parameter';
  if (names.length > MOST_PARAMETERS) return `it has ${names.length} parameters, at most ${MOST_PARAMETERS} are allowed`;
  const odd = names.find((name) => !NAME.test(name));
  if (odd !== undefined) return `"${excerpt(odd, 40)}" is no name of a parameter: letters, digits and _ only, at most 40`;
  const taken = names.find((name) => RESERVED.has(name));
  if (taken !== undefined) return `"${taken}" is the name of a placeholder of Holdfast`;
  const variables = new Set<string>();
  for (const name of names) {
    if (variables.has(name.toUpperCase())) return `two parameters would share the variable HOLDFAST_PARAM_${name.toUpperCase()}`;
    variables.add(name.toUpperCase());
  }
  return null;
}

function valueProblem(name: string): string {
  return `a value of ${name} is no text, number or boolean of at most ${MOST_CHARACTERS} characters`;
}

/** YAML is read without types, so that 1e-4 stays 1e-4. */
function textOf(value: unknown): string | null {
  const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  if (!isScalar) return null;
  const text = String(value);
  return text.length > MOST_CHARACTERS || text.includes('\0') ? null : text;
}

function combination(axes: Extract<Grid, { kind: 'product' }>['axes'], index: number): readonly Parameter[] {
  let rest = index;
  const parameters: Parameter[] = [];
  for (const { name, values } of axes.toReversed()) {
    parameters.unshift({ name, value: values[rest % values.length] ?? '' });
    rest = Math.floor(rest / values.length);
  }
  return parameters;
}

/** The index comes first, so that two trials never share a folder. */
function nameOf(index: number, count: number, parameters: readonly Parameter[]): string {
  const number = String(index).padStart(String(count - 1).length, '0');
  const values = parameters.map(({ name, value }) => `${name}=${value}`).join(',');
  return `${number}-${values}`.replaceAll(/[^A-Za-z0-9._=,+-]/g, '_').slice(0, NAME_CHARACTERS);
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
