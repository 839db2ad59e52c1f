import type { Manifest } from '../../seal/manifest.ts';
import type { Rollback } from '../../store/folder/rollback.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { contended, notOurs } from '../backends/remote-error.ts';
import { listCopies } from './list-copies.ts';
import { type Age, isLeftOut, isNewer, POINTER_KEY, POINTER_SCHEMA, type PointerMove, readPointer, type RemotePointer } from './pointer.ts';
import { remoteRollback } from './remote-rollback.ts';

/** Other processes that move the pointer at the same time finish sooner or later. */
const MAX_TRIES = 20;

type Target = Omit<RemotePointer, 'run'>;

/**
 * Moves the remote pointer forward, by compare-and-swap; it never goes back. A fenced attempt may
 * still finish a copy, but the pointer stays at the copy of a newer attempt. The exception is a
 * checkpoint that a rollback excludes. Where the pointer is missing, unreadable or another run's,
 * the manifests decide which copy is newest.
 */
export async function advancePointer(
  remote: ObjectStore,
  { name, kind, manifest }: { readonly name: string; readonly kind: RemotePointer['kind']; readonly manifest: Manifest },
): Promise<PointerMove> {
  const { run, attempt, step, save } = manifest;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const move = await tryMove(remote, run, { attempt, step, save, name, kind });
    if (move !== null) return move;
  }
  throw contended(remote, 'the pointer');
}

/** Tries to move the pointer once; null when another process was faster. */
async function tryMove(remote: ObjectStore, run: string, own: Target): Promise<PointerMove | null> {
  const found = await readPointer(remote);
  if (found?.version === '') throw notOurs(remote, POINTER_KEY);
  const told = found?.pointer?.run === run ? found.pointer : null;
  if (told?.save === own.save) return { moved: true };
  const passed = await passedBy(remote, { run, own, told });
  const outcome = moveOf(passed);
  if (passed !== null && told !== null) return outcome;
  const bytes = pointerBytes(run, passed ?? own);
  const { isWritten } = await (found === null ? remote.create(POINTER_KEY, bytes) : remote.replace(POINTER_KEY, bytes, found.version));
  return isWritten ? outcome : null;
}

function moveOf(passed: Age | null): PointerMove {
  return passed === null ? { moved: true } : { moved: false, attempt: passed.attempt, step: passed.step };
}

/** The copy that the pointer must name instead of this one; null when this one is the newest. */
async function passedBy(
  remote: ObjectStore,
  { run, own, told }: { readonly run: string; readonly own: Target; readonly told: Target | null },
): Promise<Target | null> {
  const rollback = await remoteRollback(remote);
  const newest = told ?? (await newestOther(remote, { run, save: own.save, rollback }));
  return newest !== null && isPassed(own, newest, rollback) ? newest : null;
}

function isPassed(own: Age, theirs: Age, rollback: Rollback | null): boolean {
  return isLeftOut(own, rollback) || (!isLeftOut(theirs, rollback) && isNewer(theirs, own));
}

function pointerBytes(run: string, { attempt, step, save, name, kind }: Target): Buffer {
  return Buffer.from(`${JSON.stringify({ schema: POINTER_SCHEMA, run, attempt, step, save, name, kind })}\n`);
}

/** The newest other copy of the run that counts; null when there is none. */
async function newestOther(
  remote: ObjectStore,
  { run, save, rollback }: { readonly run: string; readonly save: string; readonly rollback: Rollback | null },
): Promise<Target | null> {
  const listed = await listCopies(remote, () => {});
  const newest = listed.find((one) => one.run === run && one.save !== save && !isLeftOut(one.age, rollback));
  return newest === undefined ? null : { ...newest.age, save: newest.save, ...newest.copy };
}
