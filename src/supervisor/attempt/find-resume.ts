import { type LastGood, lastGood, missingTarget, startsFresh } from '../../store/resume/last-good.ts';
import type { Rollback } from '../../store/folder/rollback.ts';
import { HoldfastError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-codes.ts';
import { printable } from '../../core/printable.ts';
import type { AttemptOptions } from './attempt-options.ts';
import { type Resume, resumeOf } from '../base/resume.ts';

/** The parts that the search needs. */
type Searching = Pick<AttemptOptions, 'store' | 'log' | 'shipping' | 'restart'>;

/**
 * Finds the last good checkpoint, in this folder or in a newer remote copy. Every byte is compared
 * before the first trainer of this process. Null: the run starts fresh. A run whose checkpoints are
 * all bad does not start fresh, because its first save would outrank them all.
 */
export async function findResume(live: Searching, signal: AbortSignal): Promise<Resume | null> {
  const { store, shipping, restart } = live;
  let found = await look(live, signal);
  if (shipping !== null && (restart === 0 || found.checkpoint === null)) {
    const best = found.checkpoint?.manifest ?? null;
    if (await shipping.fetchNewer(store, best, signal)) found = await look(live, signal);
  }
  const { checkpoint } = found;
  if (checkpoint !== null) return resumeOf(checkpoint);
  if (startsFresh(found)) return null;
  const target = missingTarget(found);
  if (target !== null) throw notHere(store.path, target);
  // A checkpoint that could not be read may be good: a retry or another node may read it.
  const mayPass = found.skipped.some(({ state }) => state === 'unreadable' || state === 'busy');
  throw new HoldfastError('NO_LAST_GOOD', {
    ...(mayPass ? { exit: EXIT.unavailable } : {}),
    message: `the trainer was not started: ${printable(store.path)} has checkpoints, but none is good enough to resume from`,
    hint: 'Nothing was deleted. holdfast ls RUN lists the checkpoints; holdfast quarantine RUN can restore one; holdfast rollback RUN --fresh lets the run start from scratch.',
  });
}

/**
 * A rollback decided what to resume from. If that checkpoint arrived later, a first save would
 * outrank it.
 */
function notHere(dir: string, { name, step }: NonNullable<Rollback['to']>): HoldfastError {
  return new HoldfastError('NO_LAST_GOOD', {
    message: `the trainer was not started: the run was rolled back to ${printable(name)}, step ${step}, and ${printable(dir)} does not have it`,
    hint: 'Copy it there, or decide again: holdfast rollback RUN --to=STEP takes another step, --undo lets every checkpoint count again, --fresh starts from scratch.',
  });
}

async function look({ store, log, restart }: Searching, signal: AbortSignal): Promise<LastGood> {
  const found = await lastGood(store, { signal, level: restart === 0 ? 'deep' : 'auto' });
  for (const { name, reason, code, quarantined } of found.skipped) {
    log.warn(`${name} was not taken: ${reason} [${code}]${quarantined === null ? '' : `; moved to ${quarantined}`}`);
  }
  return found;
}
