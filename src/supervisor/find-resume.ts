import { type LastGood, lastGood, missingTarget, startsFresh } from '../checkpoint/store/last-good.ts';
import type { Rollback } from '../checkpoint/store/rollback.ts';
import type { SealedCheckpoint } from '../checkpoint/store/scan.ts';
import { HoldfastError } from '../core/errors.ts';
import { EXIT } from '../core/exit-codes.ts';
import { printable } from '../core/printable.ts';
import type { LiveOptions } from './live-once.ts';

/** What it takes to look for it. */
type Searching = Pick<LiveOptions, 'store' | 'book' | 'shipping' | 'restart'>;

/** What the trainer goes on from. */
export interface Resume {
  readonly path: string;
  readonly step: number;
  /** Of the save it was made of: two saves of one step are two checkpoints. */
  readonly save: string;
  /** How many ranks saved it; null where another tool did. */
  readonly worldSize: number | null;
}

/**
 * The last good checkpoint, of this folder or, where a copy elsewhere is newer, from there. Every byte is compared before the first trainer of this
 * process. Null: the run starts fresh. One that has checkpoints, none of them good, does not: its first save would outrank them all.
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
  // What could not be read may be good: another try, or another node, may read it.
  const mayPass = found.skipped.some(({ state }) => state === 'unreadable' || state === 'busy');
  throw new HoldfastError('NO_LAST_GOOD', {
    ...(mayPass ? { exit: EXIT.unavailable } : {}),
    message: `the trainer was not started: ${printable(store.path)} has checkpoints, and none of them is good to resume from`,
    hint: 'Nothing was deleted. holdfast ls RUN tells what there is; holdfast quarantine RUN brings one back; holdfast rollback RUN --fresh lets the run start from nothing.',
  });
}

/** Somebody has decided what to go on from. Its first save would outrank that, should it come. */
function notHere(dir: string, { name, step }: NonNullable<Rollback['to']>): HoldfastError {
  return new HoldfastError('NO_LAST_GOOD', {
    message: `the trainer was not started: the run was rolled back to ${printable(name)}, step ${step}, and ${printable(dir)} does not have it`,
    hint: 'Bring it there, or decide anew: holdfast rollback RUN --to=STEP goes back to another step, --undo lets everything count again, --fresh lets the run start from nothing.',
  });
}

export function resumeOf({ path, manifest: { step, save, worldSize, origin } }: SealedCheckpoint): Resume {
  return { path, step, save, worldSize: origin === 'save' ? worldSize : null };
}

async function look({ store, book, restart }: Searching, signal: AbortSignal): Promise<LastGood> {
  const found = await lastGood(store, { signal, level: restart === 0 ? 'deep' : 'auto' });
  for (const { name, reason, code, quarantined } of found.skipped) {
    book.warn(`${name} was not taken: ${reason} [${code}]${quarantined === null ? '' : `; moved to ${quarantined}`}`);
  }
  return found;
}
