import { surveyCopies, type Survey } from '../../../remote/fetch/survey-copies.ts';
import { openRemote, readLocation, type RemoteWorld } from '../../remote/open-remote.ts';
import type { PlaceValues } from '../../remote/remote-options.ts';

/** What `ls URL --json` prints; documented in docs/reference/store-json.md. */
export interface CopiesReport extends Survey {
  readonly schema: 'holdfast.ls-remote/1';
  readonly url: string;
  readonly level: 'quick' | 'deep';
}

/** Lists the copies at an address. */
export async function listCopiesAt(
  url: string,
  values: PlaceValues & { readonly deep: boolean },
  world: RemoteWorld,
): Promise<CopiesReport> {
  const location = readLocation(url);
  // A listing uploads nothing, so it needs no upload memory.
  const memory = { get: () => null, set() {}, delete() {} };
  const remote = await openRemote(location, values, { ...world, memory });
  try {
    const survey = await surveyCopies(remote, {
      isDeep: values.deep,
      onCopy: (current, done, total) => world.onProgress({ phase: 'reading', done, total, unit: 'checkpoints', current }),
    });
    return { schema: 'holdfast.ls-remote/1', url: location.url, level: values.deep ? 'deep' : 'quick', ...survey };
  } finally {
    await remote[Symbol.asyncDispose]();
  }
}
