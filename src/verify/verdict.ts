import type { Effect } from '../evidence/codes/kind.ts';

/** The verdicts, from the best to the least known. */
export const VERDICTS = ['RESUMABLE', 'UNCHECKED', 'WEIGHTS_ONLY', 'PARTIAL', 'ZOMBIE', 'CORRUPT', 'IN_PROGRESS', 'UNKNOWN'] as const;
/** What verify says about a checkpoint, in one word. */
export type Verdict = (typeof VERDICTS)[number];

/**
 * How far the bytes were compared with checksums stored beside them.
 * - `checked`: every payload byte is covered, and all comparisons were made and matched
 * - `bad`: at least one comparison failed
 * - `not-checked`: there are checksums, but this level does not read the bytes
 * - `incomplete`: checksums cover only part of the payload; what they cover was compared and
 *   matched
 * - `none`: the format, as written, holds no checksum of its payload
 */
export type IntegrityStatus = 'checked' | 'bad' | 'not-checked' | 'incomplete' | 'none';

/** What the verdict is decided from. */
export interface Judged {
  /** The effects of all evidence. */
  readonly effects: ReadonlySet<Effect>;
  readonly integrity: IntegrityStatus;
  readonly hasOptimizer: boolean;
}

/**
 * The verdict on one recognised checkpoint: the first that applies. From a verdict to its reason:
 * `src/evidence/codes` holds the evidence of each effect, and `EVIDENCE_SOURCES` in
 * `src/evidence/catalogue.ts` names the reader that finds it. `verdict-meanings.ts` has the words.
 */
export function decideVerdict({ effects, integrity, hasOptimizer }: Judged): Verdict {
  if (effects.has('in-progress')) return 'IN_PROGRESS';
  if (effects.has('corrupt') || integrity === 'bad') return 'CORRUPT';
  if (effects.has('zombie')) return 'ZOMBIE';
  if (effects.has('partial')) return 'PARTIAL';
  if (effects.has('unreadable')) return 'UNKNOWN';
  if (!hasOptimizer) return 'WEIGHTS_ONLY';
  return integrity === 'checked' ? 'RESUMABLE' : 'UNCHECKED';
}

/** True when a run could resume from a checkpoint with this verdict. */
export function canResume(verdict: Verdict, requireChecked: boolean): boolean {
  return verdict === 'RESUMABLE' || (verdict === 'UNCHECKED' && !requireChecked);
}
