import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { type Millis, parseDuration } from '../../core/duration.ts';
import { HoldfastError } from '../../core/errors.ts';
import { parseCadence } from '../../domain/cadence.ts';
import { DEFAULT_GRACE, type NominalGrace } from '../../domain/effective-grace.ts';
import type { RunOptions } from '../../supervisor/options.ts';
import type { StageWish } from '../../supervisor/staging/stage-folder.ts';
import { supervise } from '../../supervisor/supervise.ts';
import { version } from '../version.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface RunValues {
  readonly dir: string | null;
  readonly grace: Millis | null;
  readonly every: string;
  readonly keep: number | null;
  readonly restarts: number;
  readonly 'resume-arg': string | null;
  readonly stage: string | null;
  readonly 'notice-file': string | null;
  readonly 'termination-log': string | null;
}

interface RunRequest {
  readonly values: RunValues;
  readonly command: readonly string[];
  readonly env: Environment;
  readonly clock: Clock;
  readonly takeSignals: () => void;
  readonly say: (text: string) => void;
}

const DEFAULT_DIR = 'holdfast-run';

export async function runTrainer({ values, command, env, clock, takeSignals, say }: RunRequest): Promise<number> {
  const options = compileRunOptions(values, command, env);
  const shout = (text: string): void => void process.stderr.write(`holdfast: ${text}\n`);
  const onDefect = (error: Error): void => shout(`error INTERNAL: ${error.message}; training goes on`);
  process.on('uncaughtException', onDefect);
  try {
    return await supervise(options, { clock, hub: process, say, shout, takeSignals });
  } finally {
    process.off('uncaughtException', onDefect);
  }
}

/** What the options, the environment and the defaults come to, in this order of precedence. */
export function compileRunOptions(values: RunValues, command: readonly string[], env: Environment): RunOptions {
  const cadence = parseCadence(values.every);
  if (!cadence.ok) throw new HoldfastError('USAGE', { message: `option --every: ${cadence.reason}` });
  return {
    command,
    dir: resolve(values.dir ?? textOf(env, 'HOLDFAST_DIR') ?? DEFAULT_DIR),
    grace: graceOf(values.grace, env),
    cadence: cadence.value,
    cadenceText: values.every,
    restarts: values.restarts,
    resumeArgument: values['resume-arg'],
    stage: stageOf(values.stage, env),
    noticeFile: values['notice-file'],
    retention: values.keep === null ? null : { last: values.keep, every: null, withinMs: null },
    terminationLog: values['termination-log'],
    node: textOf(env, 'HOLDFAST_NODE') ?? hostname(),
    version: version(),
    env,
  };
}

function graceOf(option: Millis | null, env: Environment): NominalGrace {
  if (option !== null) return { graceMs: option, from: 'option' };
  const text = textOf(env, 'HOLDFAST_GRACE');
  if (text === null) return DEFAULT_GRACE;
  const read = parseDuration(text);
  if (read.ok) return { graceMs: read.value, from: 'environment' };
  throw new HoldfastError('SETTING_INVALID', { message: `HOLDFAST_GRACE: ${read.reason}`, hint: 'Set it like 30s or 2m, or unset it.' });
}

function stageOf(option: string | null, env: Environment): StageWish {
  const said = option ?? textOf(env, 'HOLDFAST_STAGE') ?? 'auto';
  if (said === 'auto' || said === 'off') return { kind: said };
  return { kind: 'folder', path: resolve(said), from: option === null ? 'environment' : 'option' };
}

function textOf(env: Environment, name: string): string | null {
  const value = env[name] ?? '';
  return value === '' ? null : value;
}
