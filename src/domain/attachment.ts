import { formatDuration } from '../core/duration.ts';

/** A trainer loads its libraries, its data and its model before it attaches; this long nobody wonders. */
export const USUAL_ATTACH_MS = 2 * 60_000;

/** What is known of a trainer with which nobody may ever speak. */
export interface AttachFacts {
  readonly ranForMs: number;
  /** A rank has attached, now or before. */
  readonly hasAttached: boolean;
  /** Its framework saves by itself, and what it saves is sealed. */
  readonly isWatched: boolean;
}

/** What there is to say about a trainer that has not attached; null: nothing, or nothing yet. */
export function unattachedSentence({ ranForMs, hasAttached, isWatched }: AttachFacts): string | null {
  if (hasAttached || isWatched || ranForMs < USUAL_ATTACH_MS) return null;
  const [since, ways] = [formatDuration(ranForMs), 'the trainer calls holdfast.attach(), or --watch=FOLDER names where it saves by itself'];
  return `no rank has attached in ${since}: nothing is saved unless ${ways}`;
}
