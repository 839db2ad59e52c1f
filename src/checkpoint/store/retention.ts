import type { Rollback } from './rollback.ts';
import type { SealedCheckpoint } from './scan.ts';

/** What to keep besides the last good checkpoint and pinned ones. */
export interface Retention {
  /** The newest so many, the last good one included; at least 1. */
  readonly last: number;
  /** Those whose step is a multiple of this. */
  readonly every: number | null;
  /** Those sealed within this time. */
  readonly withinMs: number | null;
}

export type KeepReason = 'last-good' | 'newer' | 'last' | 'every' | 'within' | 'pinned' | 'rolled-back';

export interface Kept {
  readonly checkpoint: SealedCheckpoint;
  readonly because: readonly KeepReason[];
}

export interface RetentionPlan {
  readonly keep: readonly Kept[];
  /** The oldest first: the order in which they go. */
  readonly remove: readonly SealedCheckpoint[];
}

export interface RetentionFacts {
  /** The newest first. */
  readonly sealed: readonly SealedCheckpoint[];
  /** Those that a rollback has taken out of consideration, the newest first. */
  readonly rolledBack: readonly SealedCheckpoint[];
  readonly rollback: Rollback | null;
  /** The one of `sealed` that was verified just now, the newest that is good; null when none is, and then nothing goes. */
  readonly lastGood: SealedCheckpoint | null;
  readonly pins: ReadonlySet<string>;
  readonly nowMs: number;
}

/**
 * Decides what may go. Only what is older than a checkpoint that was verified just now can. What was rolled back counts as older than
 * everything that was not; but until something sealed since then has taken its place all of it stays, so that the rollback can be undone.
 */
export function planRetention(facts: RetentionFacts, retention: Retention): RetentionPlan {
  const { sealed, rolledBack, rollback, lastGood, pins, nowMs } = facts;
  const keep: Kept[] = [];
  const remove: SealedCheckpoint[] = [];
  const at = indexOf(sealed, lastGood);
  const isReplaced = (sealed[at]?.manifest.attempt ?? -1) > (rollback?.throughAttempt ?? 0);
  for (const [index, checkpoint] of [...sealed, ...rolledBack].entries()) {
    const { step, sealedAt } = checkpoint.manifest;
    const reasons: readonly (readonly [KeepReason, boolean])[] = [
      ['newer', index < at],
      ['last-good', index === at && index < sealed.length],
      ['last', index >= at && index - at < retention.last],
      ['every', retention.every !== null && step % retention.every === 0],
      // A clock that jumped back makes an age negative: that is young.
      ['within', retention.withinMs !== null && nowMs - Date.parse(sealedAt) <= retention.withinMs],
      ['pinned', pins.has(checkpoint.name)],
      ['rolled-back', index >= sealed.length && !isReplaced],
    ];
    const because = reasons.filter(([, holds]) => holds).map(([reason]) => reason);
    if (because.length > 0) keep.push({ checkpoint, because });
    else remove.unshift(checkpoint);
  }
  return { keep, remove };
}

/** By identity, since a folder and files beside others may have one name; behind all of them when it is none of them. */
function indexOf(sealed: readonly SealedCheckpoint[], lastGood: SealedCheckpoint | null): number {
  const found = lastGood === null ? -1 : sealed.indexOf(lastGood);
  return found < 0 ? sealed.length : found;
}
