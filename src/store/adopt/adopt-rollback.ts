import { HoldfastError } from '../../core/errors.ts';
import { attemptNumbers, fenceOlder, newestNumber, startAttempt } from '../attempt/attempt.ts';
import { at } from '../../seal/names.ts';
import { replaceFile } from '../disk/replace-file.ts';
import { formatRollback, type Rollback } from '../folder/rollback.ts';
import type { OpenStore } from '../folder/store.ts';
import { storeError } from '../disk/store-error.ts';

/**
 * Applies a rollback that was decided elsewhere to this folder. First it fences a local trainer in
 * an attempt that the decision covers, like any rollback: its later seals would not count. The next
 * save belongs to a newer attempt.
 */
export async function adoptRollback(store: OpenStore, rollback: Rollback): Promise<void> {
  const { fs, path, makeId } = store;
  const { throughAttempt } = rollback;
  const newest = attemptNumbers(store).at(-1) ?? 0;
  if (newest <= throughAttempt) await startAbove(store, throughAttempt);
  try {
    // The process that made a newer attempt may have died before it fenced the others, or still
    // waits for the end of their grace.
    if (newest > throughAttempt) fenceOlder(store, throughAttempt + 1);
    replaceFile(fs, at.rollbackFile(path), formatRollback(rollback), makeId());
  } catch (thrown) {
    throw storeError(thrown, 'roll back', path);
  }
}

async function startAbove(store: OpenStore, through: number): Promise<void> {
  for (;;) {
    const attempt = Math.max(through, newestNumber(store)) + 1;
    try {
      await startAttempt(store, { gang: `rollback-${store.makeId()}`, attempt, maxWaitMs: 0 });
      return;
    } catch (thrown) {
      // Another process started this attempt at the same moment, and may have died before it fenced
      // the others.
      if (!isOutrun(thrown)) throw thrown;
    }
  }
}

function isOutrun(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && (thrown.code === 'ATTEMPT_TAKEN' || thrown.code === 'ATTEMPT_FENCED');
}
