import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { attemptNumbers, createAttempt, fencedError, isAttemptNumber, isFenced, newestNumber } from '../attempt/attempt.ts';
import { at } from '../../seal/names.ts';
import type { OpenStore } from '../folder/store.ts';

/** The gang of an attempt that exists only to seal checkpoints of other tools. */
const NO_GANG = 'none';

/**
 * Returns the attempt that a checkpoint of another tool is sealed for: the wanted one, or else the
 * newest.
 */
export function attemptToSealFor(store: OpenStore, wanted: number | undefined): number {
  return wanted === undefined ? newestToSealFor(store) : known(store, wanted);
}

/**
 * Returns the newest attempt, and makes it if only manifests name it. An attempt that lost its
 * staging in a copy cannot commit, so the next number replaces it.
 */
function newestToSealFor(store: OpenStore): number {
  for (;;) {
    const newest = newestNumber(store);
    if (!attemptNumbers(store).includes(newest)) createAttempt(store, { attempt: newest, gang: NO_GANG });
    if (!isFenced(store, newest)) return newest;
    // A process that fences has made a newer attempt before.
    if (newestNumber(store) > newest) continue;
    if (!isAttemptNumber(newest + 1)) throw lost(store, newest);
    createAttempt(store, { attempt: newest + 1, gang: NO_GANG });
  }
}

function known(store: OpenStore, wanted: number): number {
  // An older attempt may still seal while its successor waits. A run that trains asks for each
  // seal, so no manifest is read for an existing attempt.
  if (attemptNumbers(store).includes(wanted) && !isFenced(store, wanted)) return wanted;
  const newest = newestNumber(store);
  if (wanted > newest) {
    throw new HoldfastError('USAGE', {
      message: `attempt ${wanted} was never started in ${printable(store.path)}: ${newest === 0 ? 'there was none yet' : `the newest is ${newest}`}`,
      hint: 'Without --attempt, holdfast seal uses the newest attempt.',
    });
  }
  const isThere = attemptNumbers(store).includes(wanted);
  if (!isThere && wanted === newest) createAttempt(store, { attempt: wanted, gang: NO_GANG });
  if (!isFenced(store, wanted)) return wanted;
  throw newestNumber(store) > wanted ? fencedError(wanted) : lost(store, wanted);
}

function lost(store: OpenStore, attempt: number): HoldfastError {
  return new HoldfastError('RUN_DAMAGED', {
    message: `attempt ${attempt} can commit nothing: ${printable(at.staging(store.path, attempt))} does not exist, and no newer attempt has moved it away`,
    hint: 'Copies often leave out empty folders. Start a new attempt, or seal without --attempt.',
  });
}
