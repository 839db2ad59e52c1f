import type { Rollback } from '../folder/rollback.ts';
import type { SealedCheckpoint } from '../folder/scan.ts';

/** The rules that keep checkpoints besides the last good one and pinned ones. */
export interface Retention {
  /** Keep the newest checkpoints, this many, the last good one included; at least 1. */
  readonly last: number;
  /** Keep the checkpoints whose step is a multiple of this. */
  readonly every: number | null;
  /** Keep the checkpoints sealed within this time. */
  readonly withinMs: number | null;
}

/** Why a checkpoint stays. */
export type KeepReason = 'last-good' | 'newer' | 'last' | 'every' | 'within' | 'pinned' | 'rolled-back';

/** A checkpoint that stays, and why. */
export interface Kept {
  readonly checkpoint: SealedCheckpoint;
  readonly because: readonly KeepReason[];
}

/** What stays and what goes. */
export interface RetentionPlan {
  readonly keep: readonly Kept[];
  /** The oldest first: the order of deletion. */
  readonly remove: readonly SealedCheckpoint[];
}

/** What the plan is made from. */
export interface RetentionFacts {
  /** The newest first. */
  readonly sealed: readonly SealedCheckpoint[];
  /** The checkpoints that a rollback has excluded, the newest first. */
  readonly rolledBack: readonly SealedCheckpoint[];
  readonly rollback: Rollback | null;
  /**
   * The newest good member of `sealed`, verified just now; null when none is good, and then nothing
   * goes.
   */
  readonly lastGood: SealedCheckpoint | null;
  readonly pins: ReadonlySet<string>;
  readonly nowMs: number;
}

/**
 * Decides which checkpoints may go: only those older than a checkpoint that was verified just now.
 * A rolled back checkpoint counts as older than all others. All rolled back ones stay until a newer
 * save replaces them, so that the rollback can be undone.
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
      // A clock that jumped back makes an age negative; that counts as young.
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

/**
 * Compares by identity, since a folder and a single-file checkpoint may share a name. Counts as
 * behind all when it is none of them.
 */
function indexOf(sealed: readonly SealedCheckpoint[], lastGood: SealedCheckpoint | null): number {
  const found = lastGood === null ? -1 : sealed.indexOf(lastGood);
  return found < 0 ? sealed.length : found;
}
