import type { Fetched } from '../../checkpoint/ship/fetch.ts';
import { RangeThreads } from '../../checkpoint/ship/http/ranges/threads.ts';
import { openRemote, rateLimit, readLocation, type RemoteWorld, takeOperands, waitingFor } from './open-remote.ts';
import type { RemoteValues } from '../commands/remote-options.ts';

interface FetchValues extends RemoteValues {
  readonly checkpoint: string | null;
}

/** What `fetch --json` prints. */
export interface FetchReport extends Fetched {
  readonly schema: 'holdfast.fetch/1';
  readonly url: string;
  /** What else should be known. */
  readonly notes: readonly string[];
  /** What must be known about the storage that it lies on now. */
  readonly warnings: readonly string[];
}

export async function fetchRun(operands: readonly string[], values: FetchValues, world: RemoteWorld): Promise<FetchReport> {
  const [url, folder] = takeOperands(operands, ['URL', 'DIR']);
  const location = readLocation(url);
  const { clock, onProgress } = world;
  // They take as long to start as all the rest of the program does to load.
  const ranges = new RangeThreads();
  if (location.kind !== 'file' && values.limit === null) ranges.warm();
  const stop = new AbortController();
  const signal = AbortSignal.any([world.signal, stop.signal]);
  // Nothing is uploaded, so nothing is remembered.
  const memory = { get: () => null, set() {}, delete() {} };
  const notes: string[] = [];
  try {
    await using remote = await openRemote(location, values, { ...world, signal, memory, ranges });
    const { fetchCheckpoint } = await import('../../checkpoint/ship/fetch.ts');
    const { storageConcerns } = await import('../../checkpoint/store/suitability.ts');
    const fetched = await fetchCheckpoint({
      ...{ remote, stop, signal, folder, clock, env: world.env },
      checkpoint: values.checkpoint,
      limit: rateLimit(values, clock),
      parallel: values.parallel,
      onProgress: (progress) => onProgress({ phase: 'fetching', unit: 'bytes', ...progress }),
      onWait: (pid, name) => onProgress(waitingFor(pid, name)),
      onDecision: (sentence) => notes.push(`${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`),
    });
    return { schema: 'holdfast.fetch/1', url: location.url, ...fetched, notes, warnings: storageConcerns(folder) };
  } finally {
    ranges.close();
  }
}
