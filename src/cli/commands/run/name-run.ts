import { join } from 'node:path';
import { HoldfastError } from '../../../core/errors.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import { readRegularFile, whyUnreadable } from '../../../core/read-regular.ts';
import { type Grid, parseGrid, type Trial, trialOf, trialsOf } from '../../../domain/sweep/grid.ts';
import { fillPlaceholders } from '../../../domain/sweep/placeholders.ts';
import { SCHEDULED_PLACEHOLDER, SCHEDULED_VARIABLE, scheduledText, scheduledTime } from '../../../domain/sweep/scheduled.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The options from which a run gets its places. */
export interface PlaceValues {
  readonly dir: string | null;
  readonly watch: string | null;
  readonly ship: string | null;
  readonly grid: string | null;
  readonly trial: number | null;
  readonly nodes: number | null;
}

/** A run with its places and arguments filled in. */
export interface NamedRun<Values extends PlaceValues> {
  readonly values: Values;
  readonly command: readonly string[];
  readonly env: Environment;
  /** Its trial of a sweep; null: it is in none. */
  readonly trial: Trial | null;
  /** When a CronJob was to start it; null: none did, or the time is unknown. */
  readonly scheduledAtMs: number | null;
}

interface Asked<Values> {
  readonly values: Values;
  readonly command: readonly string[];
  readonly env: Environment;
  readonly defaultDir: string;
}

/**
 * Names a run after its trial and its scheduled time: each trial gets a folder of its own, and the
 * placeholders in the places and in the trainer's arguments are filled. `{scheduled}` in arguments
 * stays: the supervisor fills it, because the first attempt fixes the time.
 */
export async function nameRun<Values extends PlaceValues>({ values, command, env, defaultDir }: Asked<Values>): Promise<NamedRun<Values>> {
  const trial = await trialFrom(values, env);
  const scheduledAtMs = scheduledFrom(env);
  const scheduled = scheduledAtMs === null ? [] : [['scheduled', scheduledText(scheduledAtMs)] as const];
  const ofTrial =
    trial === null ? [] : [['trial', trial.name] as const, ...trial.parameters.map(({ name, value }) => [name, value] as const)];
  const place = (option: string, text: string | null): string | null => {
    if (text === null) return null;
    const filled = fillPlaceholders(text, new Map([...scheduled, ...ofTrial]));
    if (!filled.includes(SCHEDULED_PLACEHOLDER)) return filled;
    throw new HoldfastError('USAGE', {
      message: `option --${option}: ${SCHEDULED_PLACEHOLDER} needs the time that the run was scheduled for, which is unknown here`,
      hint: `A CronJob’s pods know it by their name. Elsewhere set ${SCHEDULED_VARIABLE}=2026-01-31T02:00:00Z.`,
    });
  };
  const own = (text: string | null): string | null => (text === null || trial === null ? text : join(text, trial.name));
  const told = values.dir ?? (env['HOLDFAST_DIR'] || null);
  const dir = trial === null || values.watch !== null ? values.dir : (told ?? defaultDir);
  const ship = values.ship === null || trial === null ? values.ship : `${values.ship.replace(/\/+$/, '')}/${trial.name}`;
  return {
    values: { ...values, dir: own(place('dir', dir)), watch: own(place('watch', values.watch)), ship: place('ship', ship) },
    command: command.map((word) => fillPlaceholders(word, new Map(ofTrial))),
    env: trial === null ? env : { ...env, ...variablesOf(trial) },
    trial,
    scheduledAtMs,
  };
}

function variablesOf({ name, parameters }: Trial): Environment {
  const variables = parameters.map((parameter) => [`HOLDFAST_PARAM_${parameter.name.toUpperCase()}`, parameter.value] as const);
  return { HOLDFAST_TRIAL: name, ...Object.fromEntries(variables) };
}

function scheduledFrom(env: Environment): number | null {
  const { atMs, problem } = scheduledTime(env);
  if (problem === null) return atMs;
  throw new HoldfastError('SETTING_INVALID', {
    message: `${SCHEDULED_VARIABLE}="${excerpt(env[SCHEDULED_VARIABLE] ?? '', 40)}": ${problem}`,
    hint: 'Correct it, or unset it.',
  });
}

async function trialFrom({ grid: file, trial, nodes }: PlaceValues, env: Environment): Promise<Trial | null> {
  if (file === null) {
    if (trial === null) return null;
    throw new HoldfastError('USAGE', { message: '--trial needs --grid, which is not given', hint: 'Give --grid=FILE too, or neither.' });
  }
  const grid = await readGrid(file);
  const picked = trialOf(grid, trial ?? indexFrom(env, { grid, nodes }));
  if (picked.ok) return picked.value;
  throw new HoldfastError('USAGE', {
    message: `--grid=${printable(file)}: ${picked.reason}`,
    hint: 'Give the Job as many completions as the grid has trials.',
  });
}

function indexFrom(env: Environment, { grid, nodes }: { readonly grid: Grid; readonly nodes: number | null }): number {
  const index = env['JOB_COMPLETION_INDEX'] ?? '';
  const isNode = (nodes ?? 1) > 1;
  if (/^\d{1,7}$/.test(index) && !isNode) return Number(index);
  throw new HoldfastError('USAGE', {
    message: isNode
      ? '--grid with several nodes needs --trial, because the index of the Job may be the rank of the node'
      : '--grid needs the number of the trial, and JOB_COMPLETION_INDEX does not tell it',
    hint: `An indexed Job sets it. Elsewhere give --trial, from 0 to ${trialsOf(grid) - 1}.`,
  });
}

const MOST_GRID_BYTES = 1024 * 1024;

async function readGrid(file: string): Promise<Grid> {
  const refuse = (reason: string, cause?: unknown): HoldfastError =>
    new HoldfastError('GRID_INVALID', { message: `${printable(file)}: ${reason}`, hint: 'For example:  lr: [1e-3, 1e-4]', cause });
  let text: string;
  try {
    text = readRegularFile(file, MOST_GRID_BYTES).toString('utf8');
  } catch (thrown) {
    throw refuse(`it cannot be read: ${whyUnreadable(thrown)}`, thrown);
  }
  const { parseDocument } = await import('yaml');
  // Without types, so that 1e-4 stays 1e-4 and `no` stays `no`.
  const document = parseDocument(text, { schema: 'failsafe', prettyErrors: false, logLevel: 'silent' });
  const [error] = document.errors;
  if (error !== undefined) throw refuse(`it is no YAML: ${error.message}`);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (thrown) {
    throw refuse('it has too many aliases', thrown);
  }
  const grid = parseGrid(value);
  if (!grid.ok) throw refuse(grid.reason);
  return grid.value;
}
