import type { SealedCheckpoint } from '../../store/folder/scan.ts';

/** The checkpoint that an attempt resumes from. */
export interface Resume {
  readonly path: string;
  readonly step: number;
  /** The id of the save: two saves of one step are two checkpoints. */
  readonly save: string;
  /** How many ranks saved it; null when another tool did. */
  readonly worldSize: number | null;
}

/** Describes a sealed checkpoint as one to resume from. */
export function resumeOf({ path, manifest: { step, save, worldSize, origin } }: SealedCheckpoint): Resume {
  return { path, step, save, worldSize: origin === 'save' ? worldSize : null };
}
