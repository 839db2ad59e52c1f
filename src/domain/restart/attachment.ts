import { formatDuration } from '../../core/duration.ts';

/**
 * The time for a trainer to load its libraries, data and model before it attaches; no warning comes
 * earlier.
 */
export const USUAL_ATTACH_MS = 2 * 60_000;

/** The facts about a trainer that may never attach. */
export interface AttachFacts {
  readonly ranForMs: number;
  /** A rank is attached, or was attached before. */
  readonly hasAttached: boolean;
  /** Its framework saves by itself, and Holdfast seals its checkpoints. */
  readonly isWatched: boolean;
}

/** The warning about a trainer that has not attached; null: none, or none yet. */
export function unattachedSentence({ ranForMs, hasAttached, isWatched }: AttachFacts): string | null {
  if (hasAttached || isWatched || ranForMs < USUAL_ATTACH_MS) return null;
  const [since, ways] = [formatDuration(ranForMs), 'the trainer calls holdfast.attach(), or --watch=FOLDER names where it saves by itself'];
  return `no rank has attached in ${since}: nothing is saved unless ${ways}`;
}
