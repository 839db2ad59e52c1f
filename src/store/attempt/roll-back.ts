import { HoldfastError } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { newestAttempt, startAttempt } from './attempt.ts';
import { checkSealed } from '../folder/check-sealed.ts';
import { at } from '../../seal/names.ts';
import { readManifestFile } from '../folder/read-seals.ts';
import { replaceFile } from '../disk/replace-file.ts';
import { formatRollback, type Rollback } from '../folder/rollback.ts';
import { newestFirst, scan, type SealedCheckpoint } from '../folder/scan.ts';
import type { OpenStore, Store } from '../folder/store.ts';
import { isCode, isNotOurs, storeError } from '../disk/store-error.ts';

/**
 * Finds the sealed checkpoint that a person means by a step or a name, rolled back ones included.
 * If several share a step, it returns the newest.
 */
export function findSealed(store: Store, wanted: string): SealedCheckpoint {
  const { sealed, rolledBack } = scan(store);
  const all = [...sealed, ...rolledBack].sort(newestFirst);
  const found = all.find(({ name }) => name === wanted) ?? all.find(({ manifest }) => String(manifest.step) === wanted);
  if (found !== undefined) return found;
  const steps = [...new Set(all.map(({ manifest }) => manifest.step))].slice(0, 8).join(', ');
  throw new HoldfastError('NOT_SEALED', {
    message: `${printable(store.path)} has no sealed checkpoint with the name or step "${excerpt(wanted, 60)}"`,
    hint: steps === '' ? 'Nothing is sealed there.' : `There are steps ${steps}.`,
  });
}

/**
 * Rolls the run back to a checkpoint, and deletes nothing. First it starts a new attempt, so that a
 * running trainer can no longer commit. From then on nothing newer than `to` counts among the saves
 * of older attempts; with null, none of them counts.
 */
export async function rollBack(store: OpenStore, to: SealedCheckpoint | null, options: { signal?: AbortSignal } = {}): Promise<Rollback> {
  if (to !== null) await assertGood(store, to, options);
  const before = decisionIn(store);
  const target = to === null ? null : { name: to.name, attempt: to.manifest.attempt, step: to.manifest.step };
  for (;;) {
    const { attempt } = await startAttempt(store, { gang: `rollback-${store.makeId()}`, maxWaitMs: 0, ...options });
    const rollback: Rollback = { to: target, throughAttempt: attempt - 1 };
    try {
      replaceFile(store.fs, at.rollbackFile(store.path), formatRollback(rollback), store.makeId());
    } catch (thrown) {
      throw storeError(thrown, 'roll back', store.path);
    }
    // From now on prune obeys the decision, but it may have deleted the target just before.
    if (to !== null && !isThere(store, to)) {
      restoreDecision(store, before);
      throw goneMeanwhile(to);
    }
    // Fences an attempt that started before the decision: it may have resumed from an excluded
    // checkpoint.
    if (newestAttempt(store)?.attempt === attempt) return rollback;
  }
}

function isThere(store: OpenStore, { manifestFile, manifest }: SealedCheckpoint): boolean {
  const parsed = readManifestFile(store.fs, manifestFile);
  return parsed?.ok === true && parsed.manifest.save === manifest.save;
}

function goneMeanwhile({ path }: SealedCheckpoint): HoldfastError {
  return new HoldfastError('NOT_SEALED', {
    message: `${printable(path)} cannot be the target of the rollback: it was removed at the same moment`,
    hint: 'Nothing was changed. Choose another step; holdfast ls lists them.',
  });
}

/** Reads the decision from its file, whatever it holds; null when there is none. */
function decisionIn({ fs, path }: OpenStore): string | null {
  try {
    return fs.readFile(at.rollbackFile(path)).toString('utf8');
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT') || isNotOurs(thrown)) return null;
    throw storeError(thrown, 'read', at.rollbackFile(path));
  }
}

function restoreDecision(store: OpenStore, text: string | null): void {
  if (text === null) {
    undoRollback(store);
    return;
  }
  try {
    replaceFile(store.fs, at.rollbackFile(store.path), text, store.makeId());
  } catch (thrown) {
    throw storeError(thrown, 'roll back', store.path);
  }
}

/** Forgets the decision; false when there was none. */
export function undoRollback({ fs, path }: OpenStore): boolean {
  try {
    fs.unlink(at.rollbackFile(path));
    fs.fsyncFolder(at.store(path));
    return true;
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return false;
    throw storeError(thrown, 'forget', at.rollbackFile(path));
  }
}

async function assertGood(store: OpenStore, to: SealedCheckpoint, options: { signal?: AbortSignal }): Promise<void> {
  const checked = await checkSealed(store, to, 'quick', options);
  if (checked.state === 'good') return;
  throw new HoldfastError('CHECKPOINT_NOT_GOOD', {
    message: `${printable(to.path)} cannot be the target of the rollback: ${checked.reason}`,
    hint: 'Nothing was changed. Choose another step; holdfast ls lists them.',
  });
}
