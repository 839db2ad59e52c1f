import type { ObjectStore, UploadMemory } from '../../checkpoint/ship/backend.ts';
import type { RangeThreads } from '../../checkpoint/ship/http/ranges/threads.ts';
import { type Location, parseLocation } from '../../checkpoint/ship/location.ts';
import { limitRate, type RateLimit, UNLIMITED } from '../../checkpoint/ship/rate-limit.ts';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { createRng, randomSeed } from '../../core/rng.ts';
import type { Invocation } from '../command.ts';
import type { ProgressUpdate } from '../output/progress.ts';
import type { RemoteValues } from '../commands/remote-options.ts';

/** What a command that speaks to an object store is given beside its options. */
export interface RemoteWorld extends Pick<Invocation, 'clock' | 'env' | 'signal'> {
  readonly onProgress: (update: ProgressUpdate) => void;
  /** Something for a person to know while it goes on. */
  readonly onNote: (text: string) => void;
}

/** Exactly two operands, of which one is an address. */
export function takeOperands(operands: readonly string[], names: readonly [string, string]): readonly [string, string] {
  const [first, second, ...more] = operands;
  if (first === undefined || second === undefined || more.length > 0) {
    throw new HoldfastError('USAGE', { message: `${names[0]} and ${names[1]} are needed, and nothing else` });
  }
  return [first, second];
}

export function readLocation(text: string): Location {
  const location = parseLocation(text);
  if (location.ok) return location.value;
  throw new HoldfastError('USAGE', { message: location.reason });
}

interface OpenWorld extends RemoteWorld {
  readonly memory: UploadMemory;
  readonly ranges?: RangeThreads;
}

export async function openRemote(location: Location, values: RemoteValues, world: OpenWorld): Promise<ObjectStore> {
  const { clock, env, signal, memory, ranges, onNote } = world;
  const { openStore } = await import('../../checkpoint/ship/open-store.ts');
  const { tellRetries } = await import('../../checkpoint/ship/tell-retries.ts');
  return openStore(location, {
    clock,
    env,
    signal,
    memory,
    ranges,
    onRetry: tellRetries(location.url, (sentence) => onNote(`${sentence}.`)),
    rng: createRng(randomSeed()),
    endpoint: values.endpoint,
    region: values.region,
    profile: values.profile,
    isPathStyle: values['path-style'],
  });
}

export function rateLimit({ limit }: RemoteValues, clock: Clock): RateLimit {
  return limit === null ? UNLIMITED : limitRate(limit, clock);
}

/** Progress while another process does the same. */
export function waitingFor(pid: number | null, name: string): ProgressUpdate {
  return { phase: `waiting for process ${pid ?? 'unknown'}`, done: 0, total: 0, unit: 'bytes', current: name };
}
