import { BESIDE_SUFFIX, MANIFEST_NAME } from '../store/layout.ts';
import { nameProblem } from '../store/relative-path.ts';
import type { Rollback } from '../store/rollback.ts';
import type { ObjectStore } from './backend.ts';
import type { CopyPlace } from './copy-name.ts';
import { type Age, isLeftOut, isNewer, readOwner, readPointer, type RemotePointer } from './pointer.ts';
import { invalid, isBadCopy, notFound, readCopy, type RemoteCheckpoint } from './remote-checkpoint.ts';
import { forEachAtOnce } from './slots.ts';

export interface CopyWishes {
  /** What was rolled back from is passed by. */
  readonly rollback: Rollback | null;
  /** The newest attempt that a decision at the copies is or was about, also one that was taken back; null: there was none. */
  readonly decidedThrough: number | null;
  /** False for what is not new to whoever asks. */
  readonly isWanted: (copy: Age & { readonly run: string }) => boolean;
  /** A copy that cannot be taken, and why. */
  readonly onBad: (name: string, thrown: unknown) => void;
}

/** Manifests that are asked for at a time. */
const WIDTH = 4;

/**
 * The copies that count, the newest first: the one that the pointer names, and only when whoever asks comes back for another, all the rest, by their
 * manifests.
 */
export async function* newestCopies(remote: ObjectStore, wishes: CopyWishes): AsyncGenerator<RemoteCheckpoint> {
  const pointer = await countingPointer(remote, wishes);
  if (pointer !== null) {
    // All others are older.
    if (!wishes.isWanted(pointer)) return;
    const found = await unlessBad(pointer.name, () => readPointed(remote, pointer), wishes);
    if (found !== null) yield found;
  }
  for (const { copy, save } of await listCopies(remote, wishes)) {
    if (save === pointer?.save) continue;
    const found = await unlessBad(copy.name, () => readCopy(remote, copy), wishes);
    if (found !== null) yield found;
  }
}

/**
 * Null also when it names what was rolled back from, and when it may be behind: a decision lets the pointer go back to an older copy, and when it is
 * taken back or replaced by another, what lies between counts again. Of attempts above it the pointer has only gone forward.
 */
async function countingPointer(remote: ObjectStore, { rollback, decidedThrough }: CopyWishes): Promise<RemotePointer | null> {
  const pointer = (await readPointer(remote))?.pointer ?? null;
  if (pointer === null || isLeftOut(pointer, rollback)) return null;
  return decidedThrough !== null && pointer.attempt <= decidedThrough ? null : pointer;
}

async function readPointed(remote: ObjectStore, pointer: RemotePointer): Promise<RemoteCheckpoint> {
  const found = (await readCopy(remote, pointer)) ?? notFound(remote, pointer.name);
  if (found.manifest.save === pointer.save) return found;
  throw invalid(remote, pointer.name, 'is of another save than the pointer names');
}

interface ListedCopy {
  readonly copy: CopyPlace;
  readonly save: string;
  readonly age: Age;
}

/** Every copy of the run that counts and is wanted, the newest first. Only what tells their age is kept of the manifests. */
async function listCopies(remote: ObjectStore, wishes: CopyWishes): Promise<readonly ListedCopy[]> {
  const run = await readOwner(remote);
  // Nothing was ever shipped there.
  if (run === null) return [];
  const places: CopyPlace[] = [];
  for await (const { key } of remote.list('')) {
    const place = placeOf(key);
    if (place !== null) places.push(place);
  }
  const listed: ListedCopy[] = [];
  await forEachAtOnce(places, { width: WIDTH, stop: new AbortController() }, async (copy) => {
    const found = await unlessBad(copy.name, () => readCopy(remote, copy), wishes);
    if (found === null || found.manifest.run !== run) return;
    const { save, attempt, step } = found.manifest;
    if (isLeftOut({ attempt, step }, wishes.rollback) || !wishes.isWanted({ run, attempt, step })) return;
    listed.push({ copy, save, age: { attempt, step } });
  });
  return listed.sort((a, b) => (isNewer(a.age, b.age) ? -1 : isNewer(b.age, a.age) ? 1 : 0));
}

/** Which copy's manifest lies under the key; null for everything else. */
function placeOf(key: string): CopyPlace | null {
  const inside = `/${MANIFEST_NAME}`;
  const kind = key.endsWith(inside) ? 'directory' : 'files';
  if (kind === 'files' && !key.endsWith(BESIDE_SUFFIX)) return null;
  const name = key.slice(0, kind === 'directory' ? -inside.length : -BESIDE_SUFFIX.length);
  return name.startsWith('.') || nameProblem(name) !== null ? null : { name, kind };
}

async function unlessBad(
  name: string,
  read: () => Promise<RemoteCheckpoint | null>,
  { onBad }: CopyWishes,
): Promise<RemoteCheckpoint | null> {
  try {
    return await read();
  } catch (thrown) {
    if (!isBadCopy(thrown)) throw thrown;
    onBad(name, thrown);
    return null;
  }
}
