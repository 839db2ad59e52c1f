import type { Rollback } from '../../store/folder/rollback.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { type ListedCopy, listCopies, unlessBad } from './list-copies.ts';
import { type Age, isLeftOut, readPointer, type RemotePointer } from './pointer.ts';
import { invalid, notFound, readCopy, type RemoteCheckpoint } from './remote-checkpoint.ts';
import { findOwner } from './whose-prefix.ts';

/** Which copies a caller wants. */
export interface CopyWishes {
  /** The rollback whose excluded copies are skipped. */
  readonly rollback: Rollback | null;
  /**
   * The newest attempt that any rollback at the copies excludes or, if undone, excluded; null when
   * there was none.
   */
  readonly decidedThrough: number | null;
  /** Returns false for a copy that is not new to the caller. */
  readonly isWanted: (copy: Age & { readonly run: string }) => boolean;
  /** Called with a copy that cannot be used, and why. */
  readonly onBad: (name: string, thrown: unknown) => void;
}

/**
 * Yields the copies that count, newest first. The copy that the pointer names comes first. Only a
 * caller that asks for another makes it read all manifests.
 */
export async function* newestCopies(remote: ObjectStore, wishes: CopyWishes): AsyncGenerator<RemoteCheckpoint> {
  const run = await findOwner(remote);
  // No copy was ever shipped there.
  if (run === null) return;
  const pointer = await countingPointer(remote, run, wishes);
  if (pointer !== null) {
    // All other copies are older.
    if (!wishes.isWanted(pointer)) return;
    const found = await unlessBad(pointer.name, () => readPointed(remote, pointer), wishes.onBad);
    if (found !== null) yield found;
  }
  for (const { copy } of await wantedCopies(remote, run, wishes)) {
    if (copy.name === pointer?.name && copy.kind === pointer.kind) continue;
    const found = await unlessBad(copy.name, () => readCopy(remote, copy), wishes.onBad);
    if (found !== null) yield found;
  }
}

/**
 * The pointer, if it names the newest copy that counts; otherwise null. It may be another run's, or
 * name an excluded copy. After a rollback it may also be behind: once the rollback is undone or
 * replaced, newer copies count again. For attempts above the rollback, the pointer has only moved
 * forward.
 */
async function countingPointer(remote: ObjectStore, run: string, { rollback, decidedThrough }: CopyWishes): Promise<RemotePointer | null> {
  const pointer = (await readPointer(remote))?.pointer ?? null;
  if (pointer === null || pointer.run !== run || isLeftOut(pointer, rollback)) return null;
  return decidedThrough !== null && pointer.attempt <= decidedThrough ? null : pointer;
}

async function readPointed(remote: ObjectStore, pointer: RemotePointer): Promise<RemoteCheckpoint> {
  const found = (await readCopy(remote, pointer)) ?? notFound(remote, pointer.name);
  const { save, run, attempt, step } = found.manifest;
  if (save === pointer.save && run === pointer.run && attempt === pointer.attempt && step === pointer.step) return found;
  throw invalid(remote, pointer.name, 'is of another save than the pointer names');
}

/** Lists every copy of the run that counts and is wanted, newest first. */
async function wantedCopies(remote: ObjectStore, run: string, wishes: CopyWishes): Promise<readonly ListedCopy[]> {
  const listed = await listCopies(remote, wishes.onBad);
  return listed.filter(({ run: of, age }) => of === run && !isLeftOut(age, wishes.rollback) && wishes.isWanted({ run, ...age }));
}
