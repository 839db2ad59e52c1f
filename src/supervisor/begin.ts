import { type Attempt, startAttempt } from '../checkpoint/store/attempt.ts';
import { readRollback } from '../checkpoint/store/rollback.ts';
import type { OpenStore } from '../checkpoint/store/store.ts';
import { HoldfastError } from '../core/errors.ts';
import { EXIT } from '../core/exit-codes.ts';
import { RESERVE_MS } from '../domain/flush-decision.ts';
import { findResume } from './find-resume.ts';
import type { Begun } from './gang/meet.ts';
import type { LiveOptions } from './live-once.ts';
import { endOrphans } from './orphans.ts';
import { adoptImages } from './staging/adopt-images.ts';

/** What it takes to begin a life, before there is one. */
export type Beginning = Pick<LiveOptions, 'options' | 'store' | 'book' | 'notices' | 'sealer' | 'stage' | 'shipping' | 'restart'>;

/** Of an attempt that never had a trainer. */
const NOTHING_DONE = { cause: null, step: null, lastGoodStep: null, lostMs: 0, lostSteps: 0, accelerators: null } as const;

/**
 * The next attempt, and what it goes on from. A decision to roll back that comes with the copies may be about this very attempt, where the place of the
 * copies could not be asked for its number: whatever it saved would not count. Then there is another attempt, above the decision.
 */
export async function begin(live: Beginning, gang: string, signal: AbortSignal): Promise<Begun> {
  const { store, book } = live;
  for (let turn = 0; ; turn++) {
    // A gang has one attempt, unless it is told the number.
    const attempt = await start(live, turn === 0 ? gang : `${gang}/${turn}`, signal);
    // Before anybody looks at what an earlier life has left, which one that lives on would change meanwhile.
    await endOrphans(live, signal);
    if (!isTakenBack(store, attempt)) {
      await adoptLeft(live, attempt);
      await settleWatched(live, attempt, signal);
      const resume = await findResume(live, signal);
      if (!isTakenBack(store, attempt)) return { attempt, resume };
    }
    const sentence = `nothing that attempt ${attempt.attempt} saved would count after the run was rolled back; the run goes on in another`;
    book.warn(sentence);
    book.record({ kind: 'attempt-ended', exitCode: EXIT.fenced, end: 'refused', sentence, ...NOTHING_DONE });
  }
}

async function start({ store, book, shipping, restart }: Beginning, gang: string, signal: AbortSignal): Promise<Attempt> {
  const number = (await shipping?.takeNumber(store, gang, signal)) ?? null;
  const attempt = await startAttempt(store, { gang, signal, ...(number === null ? {} : { attempt: number }) });
  await book.open(attempt.attempt);
  // Before what an earlier life has left is sealed: it may be what the run was rolled back from.
  if (number !== null && restart === 0) await shipping?.hearDecision(store, signal);
  return attempt;
}

function isTakenBack(store: OpenStore, { attempt }: Attempt): boolean {
  return attempt <= (readRollback(store)?.throughAttempt ?? -1);
}

/** What an earlier life has left in memory is sealed first, also after a notice while there is time: it may be all there is of its work. */
async function adoptLeft({ stage, store, options, book, sealer, notices }: Beginning, attempt: Attempt): Promise<void> {
  if (stage === null) return;
  const [over, late] = [new AbortController(), new AbortController()];
  const tooLate = new HoldfastError('TERMINATED', { message: 'there was no time left to seal what lay in memory' });
  notices.untilDeadline(RESERVE_MS, over.signal).then(
    () => late.abort(tooLate),
    () => {},
  );
  try {
    await adoptImages(stage.folder, { store, attempt, options, book, sealer, signal: late.signal });
  } finally {
    over.abort();
  }
}

/** What an earlier life has left in a watched folder is put in order; who does not watch loads nothing of it. */
async function settleWatched({ options, store, book }: Beginning, attempt: Attempt, signal: AbortSignal): Promise<void> {
  if (!options.isWatched) return;
  const { settleLeftovers } = await import('./watch/leftovers.ts');
  await settleLeftovers({ store, attempt, book, signal });
}
