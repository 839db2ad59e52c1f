import { BESIDE_SUFFIX, MANIFEST_NAME } from '../../seal/names.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { forEachAtOnce } from '../transfer/slots.ts';
import type { CopyPlace } from './copy-name.ts';
import { type Age, copyNameProblem, isNewer } from './pointer.ts';
import { isBadCopy, readCopy, type RemoteCheckpoint } from './remote-checkpoint.ts';

/** A copy found by reading all manifests. Only this much of each manifest is kept. */
export interface ListedCopy {
  readonly copy: CopyPlace;
  readonly run: string;
  readonly save: string;
  readonly age: Age;
}

/** Called with a copy that cannot be used, and why. */
export type OnBadCopy = (name: string, thrown: unknown) => void;

/** How many manifests are read at a time. */
const WIDTH = 4;

/** Lists every copy below the prefix with a readable manifest, of any run, newest first. */
export async function listCopies(remote: ObjectStore, onBad: OnBadCopy): Promise<readonly ListedCopy[]> {
  const places: CopyPlace[] = [];
  for await (const { key } of remote.list('')) {
    const place = placeOf(key);
    if (place !== null) places.push(place);
  }
  const listed: ListedCopy[] = [];
  await forEachAtOnce(places, { width: WIDTH, stop: new AbortController() }, async (copy) => {
    const found = await unlessBad(copy.name, () => readCopy(remote, copy), onBad);
    if (found === null) return;
    const { run, save, attempt, step } = found.manifest;
    listed.push({ copy, run, save, age: { attempt, step } });
  });
  return listed.sort((a, b) => (isNewer(a.age, b.age) ? -1 : isNewer(b.age, a.age) ? 1 : 0));
}

/** The copy whose manifest has this key; null for any other key. */
export function placeOf(key: string): CopyPlace | null {
  const inside = `/${MANIFEST_NAME}`;
  const kind = key.endsWith(inside) ? 'directory' : 'files';
  if (kind === 'files' && !key.endsWith(BESIDE_SUFFIX)) return null;
  const name = key.slice(0, kind === 'directory' ? -inside.length : -BESIDE_SUFFIX.length);
  return copyNameProblem(name) === null ? { name, kind } : null;
}

/** Reads a copy. A bad one is reported to `onBad`, and the result is null. */
export async function unlessBad(
  name: string,
  read: () => Promise<RemoteCheckpoint | null>,
  onBad: OnBadCopy,
): Promise<RemoteCheckpoint | null> {
  try {
    return await read();
  } catch (thrown) {
    if (!isBadCopy(thrown)) throw thrown;
    onBad(name, thrown);
    return null;
  }
}
