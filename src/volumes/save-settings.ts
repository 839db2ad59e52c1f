import { parseBytes } from '../core/bytes.ts';
import { HoldfastError } from '../core/errors.ts';
import type { Parsed } from '../core/parsed.ts';
import { type EvictionLineWish, parseEvictionLine } from './eviction-line.ts';

/** Settings for facts that a save cannot find out. An option of `run` sets the same variable. */
export const EVICTION_LINE_VARIABLE = 'HOLDFAST_EVICTION_LINE';
/** The environment variable with the size of a save. */
export const SAVE_SIZE_VARIABLE = 'HOLDFAST_SAVE_SIZE';

type Environment = Readonly<Record<string, string | undefined>>;

/** The kubelet's eviction line on this node, from its administrator. */
export function evictionLineWish(env: Environment): EvictionLineWish {
  return setting(env, EVICTION_LINE_VARIABLE, parseEvictionLine) ?? { kind: 'auto' };
}

/** The expected size of a save, for a run without a save so far; null if it is not set. */
export function toldSaveBytes(env: Environment): number | null {
  return setting(env, SAVE_SIZE_VARIABLE, parseBytes);
}

function setting<T>(env: Environment, name: string, parse: (text: string) => Parsed<T>): T | null {
  const text = env[name];
  if (text === undefined || text === '') return null;
  const read = parse(text);
  if (read.ok) return read.value;
  throw new HoldfastError('SETTING_INVALID', {
    message: `${name}: ${read.reason}`,
    hint: 'Set it to a value that the rule allows, or unset it.',
  });
}
