import type { ObjectStore, UploadMemory } from '../../remote/backends/backend.ts';
import type { RangeThreads } from '../../remote/http/ranges/threads.ts';
import { type Location, parseLocation } from '../../remote/backends/location.ts';
import { limitRate, type RateLimit, UNLIMITED } from '../../remote/transfer/rate-limit.ts';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { createRng, randomSeed } from '../../core/rng.ts';
import type { Invocation } from '../frame/command.ts';
import type { ProgressUpdate } from '../output/progress.ts';
import type { PlaceValues, RemoteValues } from './remote-options.ts';

/** What a command that uses an object store gets in addition to its options. */
export interface RemoteWorld extends Pick<Invocation, 'clock' | 'env' | 'signal'> {
  readonly onProgress: (update: ProgressUpdate) => void;
  /** Called with a note for the user while the command runs. */
  readonly onNote: (text: string) => void;
}

/** Takes exactly two operands, one of them an address. */
export function takeOperands(operands: readonly string[], names: readonly [string, string]): readonly [string, string] {
  const [first, second, ...more] = operands;
  if (first === undefined || second === undefined || more.length > 0) {
    throw new HoldfastError('USAGE', { message: `${names[0]} and ${names[1]} are needed, and nothing else` });
  }
  return [first, second];
}

/** Parses an address; throws USAGE when it is invalid. */
export function readLocation(text: string): Location {
  const location = parseLocation(text);
  if (location.ok) return location.value;
  throw new HoldfastError('USAGE', { message: location.reason });
}

interface OpenWorld extends RemoteWorld {
  readonly memory: UploadMemory;
  readonly ranges?: RangeThreads;
}

/** Opens the store of an address with the command's options. */
export async function openRemote(location: Location, values: PlaceValues, world: OpenWorld): Promise<ObjectStore> {
  const { clock, env, signal, memory, ranges, onNote } = world;
  const { openStore } = await import('../../remote/backends/open-store.ts');
  const { tellRetries } = await import('../../remote/transfer/tell-retries.ts');
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

/** The rate limit that `--limit` sets. */
export function rateLimit({ limit }: RemoteValues, clock: Clock): RateLimit {
  return limit === null ? UNLIMITED : limitRate(limit, clock);
}

/** The progress line while the command waits for another process. */
export function waitingFor(pid: number | null, name: string): ProgressUpdate {
  return { phase: `waiting for process ${pid ?? 'unknown'}`, done: 0, total: 0, unit: 'bytes', current: name };
}
