import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { parseBytes } from '../../../core/bytes.ts';
import type { Clock } from '../../../core/clock.ts';
import { type Millis, parseDuration } from '../../../core/duration.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { ignoredSignals, withoutSignals } from '../../../core/ignored-signals.ts';
import type { StopSignal } from '../../../core/lifecycle.ts';
import type { Parsed } from '../../../core/parsed.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import { createRng, randomSeed } from '../../../core/rng.ts';
import { parseEvictionLine } from '../../../volumes/eviction-line.ts';
import { EVICTION_LINE_VARIABLE, evictionLineWish, SAVE_SIZE_VARIABLE, toldSaveBytes } from '../../../volumes/save-settings.ts';
import { parseLocation } from '../../../remote/backends/location.ts';
import { parseCadence } from '../../../domain/cadence/cadence.ts';
import { DEFAULT_GRACE, type NominalGrace } from '../../../domain/grace/effective-grace.ts';
import { type Gang, gangOf } from '../../../domain/restart/gang.ts';
import { parseHangRules } from '../../../domain/hang/hang.ts';
import { parseMetadataWish } from '../../../supervisor/settings/metadata-wish.ts';
import type { RunOptions } from '../../../supervisor/settings/run-options.ts';
import type { StageWish } from '../../../supervisor/settings/run-options.ts';
import { parseStatusAddress } from '../../../supervisor/settings/status-address.ts';
import { supervise } from '../../../supervisor/run/supervise.ts';
import { version } from '../../frame/version.ts';
import { nameRun } from './name-run.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface RunValues {
  readonly dir: string | null;
  readonly grace: Millis | null;
  readonly every: string;
  readonly keep: number | null;
  readonly restarts: number;
  readonly 'resume-arg': string | null;
  readonly again: boolean;
  readonly watch: string | null;
  readonly ship: string | null;
  readonly 'ship-limit': number | null;
  readonly 'remote-patience': Millis | null;
  readonly stage: string | null;
  readonly 'notice-file': string | null;
  readonly metadata: string | null;
  readonly hang: string;
  readonly 'on-hang': string;
  readonly status: string | null;
  readonly gang: string | null;
  readonly nodes: number | null;
  readonly 'node-rank': number | null;
  readonly 'eviction-line': string | null;
  readonly 'save-size': string | null;
  readonly 'termination-log': string | null;
  readonly grid: string | null;
  readonly trial: number | null;
}

interface RunRequest {
  readonly values: RunValues;
  readonly command: readonly string[];
  readonly env: Environment;
  readonly clock: Clock;
  readonly takeSignals: () => StopSignal | null;
  readonly cannotEnd: () => void;
  readonly say: (text: string) => void;
}

const DEFAULT_DIR = 'holdfast-run';

/** Runs the trainer as the options ask, and resolves to the exit code. */
export async function runTrainer({ values, command, env, clock, say, ...session }: RunRequest): Promise<number> {
  const named = await nameRun({ values, command, env, defaultDir: DEFAULT_DIR });
  const options = { ...compileRunOptions(named.values, named.command, named.env), trial: named.trial, scheduledAtMs: named.scheduledAtMs };
  const shout = (text: string): void => void process.stderr.write(`holdfast: ${text}\n`);
  const onDefect = (error: Error): void => shout(`error INTERNAL: ${error.message}; training goes on`);
  process.on('uncaughtException', onDefect);
  const hub = withoutSignals(process, ignoredSignals(env));
  try {
    return await supervise(options, { clock, rng: createRng(randomSeed()), hub, say, shout, ...session });
  } finally {
    process.off('uncaughtException', onDefect);
  }
}

/** Merges the options, the environment and the defaults, in this order of precedence. */
export function compileRunOptions(
  values: RunValues,
  command: readonly string[],
  env: Environment,
): Omit<RunOptions, 'trial' | 'scheduledAtMs'> {
  const cadence = parseCadence(values.every);
  if (!cadence.ok) throw new HoldfastError('USAGE', { message: `option --every: ${cadence.reason}` });
  const gang = gangFrom(values, env);
  return {
    command,
    dir: folderOf(values, env),
    grace: graceOf(values.grace, env),
    cadence: cadence.value,
    cadenceText: values.every,
    restarts: values.restarts,
    resumeArgument: values['resume-arg'],
    trainsAgain: values.again,
    stage: stageOf(values.stage, env),
    noticeFile: values['notice-file'],
    metadata: metadataOf(values, env),
    ...hangOf(values),
    status: values.status === null ? null : optionOf('--status', parseStatusAddress(values.status)),
    retention: values.keep === null ? null : { last: values.keep, every: null, withinMs: null },
    terminationLog: values['termination-log'],
    gang,
    // One of several nodes ships for all.
    ship: (gang?.nodeRank ?? 0) === 0 ? shipOf(values) : null,
    isWatched: values.watch !== null,
    node: textOf(env, 'HOLDFAST_NODE') ?? hostname(),
    version: version(),
    env: withSaveSettings(values, env),
  };
}

/**
 * Passes these settings on as the environment would. Invalid ones are refused here, and not at the
 * first save.
 */
function withSaveSettings({ 'eviction-line': line, 'save-size': size }: RunValues, env: Environment): Environment {
  if (line !== null) optionOf('--eviction-line', parseEvictionLine(line));
  if (size !== null) optionOf('--save-size', parseBytes(size));
  const told = {
    ...env,
    ...(line === null ? {} : { [EVICTION_LINE_VARIABLE]: line }),
    ...(size === null ? {} : { [SAVE_SIZE_VARIABLE]: size }),
  };
  evictionLineWish(told);
  toldSaveBytes(told);
  return told;
}

/** Uses the watched folder as the run's folder, because its checkpoints are sealed in place. */
function folderOf({ dir, watch }: RunValues, env: Environment): string {
  const told = dir ?? textOf(env, 'HOLDFAST_DIR');
  if (watch === null) return resolve(told ?? DEFAULT_DIR);
  if (dir === null || resolve(dir) === resolve(watch)) return resolve(watch);
  throw new HoldfastError('USAGE', {
    message: `--dir=${printable(dir)} and --watch=${printable(watch)} are different folders: Holdfast seals watched checkpoints in place, so the watched folder is the folder of the run`,
    hint: 'Leave --dir out.',
  });
}

function shipOf({ ship, 'ship-limit': limit, 'remote-patience': patience }: RunValues): RunOptions['ship'] {
  if (ship === null) {
    if (limit === null && patience === null) return null;
    throw new HoldfastError('USAGE', {
      message: limit === null ? '--remote-patience needs --ship, which is not given' : '--ship-limit needs --ship, which is not given',
      hint: 'Give --ship=URL too, or neither.',
    });
  }
  const location = parseLocation(ship);
  if (location.ok) return { location: location.value, limit, ...(patience === null ? {} : { patienceMs: patience }) };
  throw new HoldfastError('USAGE', { message: `option --ship: ${location.reason}` });
}

function metadataOf({ metadata }: RunValues, env: Environment): RunOptions['metadata'] {
  if (metadata !== null) return optionOf('--metadata', parseMetadataWish(metadata));
  const read = parseMetadataWish(textOf(env, 'HOLDFAST_METADATA') ?? 'auto');
  if (read.ok) return read.value;
  throw new HoldfastError('SETTING_INVALID', { message: `HOLDFAST_METADATA: ${read.reason}`, hint: 'Set it to off, or unset it.' });
}

function hangOf({ hang, 'on-hang': onHang, restarts }: RunValues): Pick<RunOptions, 'hang' | 'onHang'> {
  const rules = optionOf('--hang', parseHangRules(hang));
  if (onHang !== 'report' && onHang !== 'restart') {
    throw new HoldfastError('USAGE', { message: `option --on-hang: "${excerpt(onHang, 40)}" is neither report nor restart` });
  }
  if (onHang === 'restart' && (rules === null || restarts === 0)) {
    throw new HoldfastError('USAGE', {
      message: `--on-hang=restart needs ${rules === null ? 'hang detection, but --hang is off' : 'restarts, but --restarts is 0'}`,
      hint: rules === null ? 'Give --hang=auto or a time.' : 'Give --restarts=3, for example: a hang uses one restart, like an error.',
    });
  }
  return { hang: rules, onHang };
}

function optionOf<T>(name: string, read: Parsed<T>): T {
  if (read.ok) return read.value;
  throw new HoldfastError('USAGE', { message: `option ${name}: ${read.reason}` });
}

function gangFrom({ gang, nodes, 'node-rank': nodeRank, watch }: RunValues, env: Environment): Gang | null {
  const read = gangOf({ gang, nodes, nodeRank }, env);
  if (!read.ok) throw new HoldfastError('USAGE', { message: read.reason });
  if (read.value === null || watch === null) return read.value;
  throw new HoldfastError('USAGE', {
    message: `--watch seals the saves of one node, but ${read.value.nodes} nodes take part`,
    hint: 'Use the SDK in the trainer, or use --nodes=1 and give every node its own folder.',
  });
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
