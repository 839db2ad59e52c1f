import type { Fetched } from '../../../remote/fetch/fetch.ts';
import { RangeThreads } from '../../../remote/http/ranges/threads.ts';
import { openRemote, rateLimit, readLocation, type RemoteWorld, takeOperands, waitingFor } from '../../remote/open-remote.ts';
import type { RemoteValues } from '../../remote/remote-options.ts';

interface FetchValues extends RemoteValues {
  readonly checkpoint: string | null;
}

/** What `fetch --json` prints. */
export interface FetchReport extends Fetched {
  readonly schema: 'holdfast.fetch/1';
  readonly url: string;
  /** Sentences with more for the user to know. */
  readonly notes: readonly string[];
  /** Warnings about the storage that the checkpoint is now on. */
  readonly warnings: readonly string[];
}

/** Runs `fetch`: downloads a copy and returns the report. */
export async function fetchRun(operands: readonly string[], values: FetchValues, world: RemoteWorld): Promise<FetchReport> {
  const [url, folder] = takeOperands(operands, ['URL', 'DIR']);
  const location = readLocation(url);
  const { clock, onProgress } = world;
  // Start the threads first: they take as long to start as the rest of the program takes to load.
  const ranges = new RangeThreads();
  if (location.kind !== 'file' && values.limit === null) ranges.warm();
  const stop = new AbortController();
  const signal = AbortSignal.any([world.signal, stop.signal]);
  // A fetch uploads nothing, so it needs no upload memory.
  const memory = { get: () => null, set() {}, delete() {} };
  const notes: string[] = [];
  try {
    await using remote = await openRemote(location, values, { ...world, signal, memory, ranges });
    const { fetchCheckpoint } = await import('../../../remote/fetch/fetch.ts');
    const { storageConcerns } = await import('../../../store/folder/suitability.ts');
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
