import { parseBytes } from '../../core/bytes.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { Parsed } from '../../core/parsed.ts';
import { type EvictionLineWish, parseEvictionLine } from './eviction-line.ts';

/** Where saves are told what they cannot find out: an option of `run` is put there too. */
export const EVICTION_LINE_VARIABLE = 'HOLDFAST_EVICTION_LINE';
export const SAVE_SIZE_VARIABLE = 'HOLDFAST_SAVE_SIZE';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the kubelet of this node evicts, as its administrator told. */
export function evictionLineWish(env: Environment): EvictionLineWish {
  return setting(env, EVICTION_LINE_VARIABLE, parseEvictionLine) ?? { kind: 'auto' };
}

/** How large a save will be, for a run that has made none yet; null when nobody told. */
export function toldSaveBytes(env: Environment): number | null {
  return setting(env, SAVE_SIZE_VARIABLE, parseBytes);
}

function setting<T>(env: Environment, name: string, parse: (text: string) => Parsed<T>): T | null {
  const text = env[name];
  if (text === undefined || text === '') return null;
  const read = parse(text);
  if (read.ok) return read.value;
  throw new HoldfastError('SETTING_INVALID', { message: `${name}: ${read.reason}`, hint: 'Set it to what the rule says, or unset it.' });
}
