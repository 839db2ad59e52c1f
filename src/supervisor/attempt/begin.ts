import { type Attempt, startAttempt } from '../../store/attempt/attempt.ts';
import { readRollback } from '../../store/folder/rollback.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { HoldfastError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-codes.ts';
import { RESERVE_MS } from '../../domain/grace/flush-decision.ts';
import { findResume } from './find-resume.ts';
import type { Begun } from '../nodes/meet.ts';
import type { AttemptOptions } from './attempt-options.ts';
import { endOrphans } from './orphan-trainers.ts';
import { adoptImages } from '../saves/staging/adopt-images.ts';

/** The parts that starting an attempt needs, before there is one. */
export type Beginning = Pick<AttemptOptions, 'options' | 'store' | 'log' | 'notices' | 'sealer' | 'stage' | 'shipping' | 'restart'>;

/** The figures of an attempt that never had a trainer. */
const NOTHING_DONE = { cause: null, step: null, lastGoodStep: null, lostMs: 0, lostSteps: 0, accelerators: null } as const;

/**
 * Starts the next attempt and finds the checkpoint to resume from. A rollback decision can arrive
 * with the copies and cover this very attempt, if the remote store could give no number. Its saves
 * would not count then, so another attempt starts, above the decision.
 */
export async function begin(live: Beginning, gang: string, signal: AbortSignal): Promise<Begun> {
  const { store, log } = live;
  for (let turn = 0; ; turn++) {
    // All nodes of a gang share one attempt, unless the remote store gives the number.
    const attempt = await start(live, turn === 0 ? gang : `${gang}/${turn}`, signal);
    // Ends orphaned trainers first, because a live one would change the leftovers while they are
    // examined.
    await endOrphans(live, signal);
    if (!isTakenBack(store, attempt)) {
      await sealStagedSaves(live, attempt);
      await settleWatchedFolder(live, attempt, signal);
      const resume = await findResume(live, signal);
      if (!isTakenBack(store, attempt)) return { attempt, resume };
    }
    const sentence = `after the rollback, the saves of attempt ${attempt.attempt} would not count; the run continues in another attempt`;
    log.warn(sentence);
    log.record({ kind: 'attempt-ended', exitCode: EXIT.fenced, end: 'refused', sentence, ...NOTHING_DONE });
  }
}

async function start({ store, log, shipping, restart }: Beginning, gang: string, signal: AbortSignal): Promise<Attempt> {
  const number = (await shipping?.takeNumber(store, gang, signal)) ?? null;
  const attempt = await startAttempt(store, { gang, signal, ...(number === null ? {} : { attempt: number }) });
  await log.open(attempt.attempt);
  // Reads the decision before leftovers are sealed, because the run may have been rolled back from
  // them.
  if (number !== null && restart === 0) await shipping?.hearDecision(store, signal);
  return attempt;
}

function isTakenBack(store: OpenStore, { attempt }: Attempt): boolean {
  return attempt <= (readRollback(store)?.throughAttempt ?? -1);
}

/**
 * Seals the saves that an earlier attempt left in memory, even after a notice while there is time.
 * They may be all that is left of its work.
 */
async function sealStagedSaves({ stage, store, options, log, sealer, notices }: Beginning, attempt: Attempt): Promise<void> {
  if (stage === null) return;
  const [over, late] = [new AbortController(), new AbortController()];
  const tooLate = new HoldfastError('TERMINATED', { message: 'there was no time left to seal the save in memory' });
  notices.untilDeadline(RESERVE_MS, over.signal).then(
    () => late.abort(tooLate),
    () => {},
  );
  try {
    await adoptImages(stage.folder, { store, attempt, options, log, sealer, signal: late.signal });
  } finally {
    over.abort();
  }
}

/** Puts a watched folder in order. Runs without `--watch` do not load this code. */
async function settleWatchedFolder({ options, store, log }: Beginning, attempt: Attempt, signal: AbortSignal): Promise<void> {
  if (!options.isWatched) return;
  const { settleLeftovers } = await import('../watch/prepare-folder.ts');
  await settleLeftovers({ store, attempt, log, signal });
}
