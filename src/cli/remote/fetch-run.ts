import { type Fetched, fetchCheckpoint } from '../../checkpoint/ship/fetch.ts';
import { openRemote, rateLimit, readLocation, type RemoteWorld, takeOperands, waitingFor } from './open-remote.ts';
import type { RemoteValues } from '../commands/remote-options.ts';

interface FetchValues extends RemoteValues {
  readonly checkpoint: string | null;
}

/** What `fetch --json` prints. */
export interface FetchReport extends Fetched {
  readonly schema: 'holdfast.fetch/1';
  readonly url: string;
}

export async function fetchRun(operands: readonly string[], values: FetchValues, world: RemoteWorld): Promise<FetchReport> {
  const [url, folder] = takeOperands(operands, ['URL', 'DIR']);
  const location = readLocation(url);
  const { clock, onProgress } = world;
  const stop = new AbortController();
  const signal = AbortSignal.any([world.signal, stop.signal]);
  // Nothing is uploaded, so nothing is remembered.
  const memory = { get: () => null, set() {}, delete() {} };
  const remote = openRemote(location, values, { ...world, signal, memory });
  try {
    const fetched = await fetchCheckpoint({
      ...{ remote, stop, signal, folder, clock },
      checkpoint: values.checkpoint,
      limit: rateLimit(values, clock),
      parallel: values.parallel,
      onProgress: (progress) => onProgress({ phase: 'fetching', unit: 'bytes', ...progress }),
      onWait: (pid, name) => onProgress(waitingFor(pid, name)),
    });
    return { schema: 'holdfast.fetch/1', url: location.url, ...fetched };
  } finally {
    await remote[Symbol.asyncDispose]();
  }
}
