import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { attemptNumbers, createAttempt, fencedError, isAttemptNumber, isFenced, newestNumber } from './attempt.ts';
import { at } from './layout.ts';
import type { OpenStore } from './store.ts';

/** Gang of an attempt that is there only to seal what other tools have made. */
const NO_GANG = 'none';

/** The attempt that a checkpoint of another tool is sealed for: the one that is wanted, else the newest, whichever that is. */
export function attemptToSealFor(store: OpenStore, wanted: number | undefined): number {
  return wanted === undefined ? newestToSealFor(store) : known(store, wanted);
}

/** Made where nothing but what was sealed elsewhere tells of it. One that lost its staging on the way of a copy can commit nothing: the next takes its place. */
function newestToSealFor(store: OpenStore): number {
  for (;;) {
    const newest = newestNumber(store);
    if (!attemptNumbers(store).includes(newest)) createAttempt(store, { attempt: newest, gang: NO_GANG });
    if (!isFenced(store, newest)) return newest;
    // Whoever fences has made a newer one before.
    if (newestNumber(store) > newest) continue;
    if (!isAttemptNumber(newest + 1)) throw lost(store, newest);
    createAttempt(store, { attempt: newest + 1, gang: NO_GANG });
  }
}

function known(store: OpenStore, wanted: number): number {
  // An older one that a newer waits for may still seal. Whoever seals while a run trains asks for each: no manifest is read for one that is there.
  if (attemptNumbers(store).includes(wanted) && !isFenced(store, wanted)) return wanted;
  const newest = newestNumber(store);
  if (wanted > newest) {
    throw new HoldfastError('USAGE', {
      message: `attempt ${wanted} was never started in ${printable(store.path)}: ${newest === 0 ? 'there was none yet' : `the newest is ${newest}`}`,
      hint: 'Without --attempt it is sealed for the newest, whichever that is.',
    });
  }
  const isThere = attemptNumbers(store).includes(wanted);
  if (!isThere && wanted === newest) createAttempt(store, { attempt: wanted, gang: NO_GANG });
  if (!isFenced(store, wanted)) return wanted;
  throw newestNumber(store) > wanted ? fencedError(wanted) : lost(store, wanted);
}

function lost(store: OpenStore, attempt: number): HoldfastError {
  return new HoldfastError('RUN_DAMAGED', {
    message: `attempt ${attempt} can commit nothing: ${printable(at.staging(store.path, attempt))} is not there, and no newer attempt has taken it away`,
    hint: 'Copies often leave out folders in which nothing lies. Start a new attempt, or seal without --attempt.',
  });
}
