import type { EvidenceCode } from './catalogue.ts';

/**
 * What a piece of evidence does to the verdict. The first five decide it, in this order; a warning, a note and a security
 * finding stand beside it.
 */
export type Effect = 'in-progress' | 'corrupt' | 'zombie' | 'partial' | 'unreadable' | 'warning' | 'note' | 'security';

/** One entry of the catalogue: what a code means, at length. */
export interface EvidenceKind {
  readonly effect: Effect;
  /** A few words, as a heading. */
  readonly title: string;
  /** What it means, how it comes about, what to do. Shown by `holdfast explain CODE`. */
  readonly explain: string;
}

/** One thing that was found, with everything needed to see it for oneself. */
export interface Evidence {
  readonly code: EvidenceCode;
  readonly effect: Effect;
  /** The file it was found in, below the path that was given; null when it concerns the whole checkpoint. */
  readonly file: string | null;
  /** Byte offset in that file. */
  readonly offset?: number;
  readonly expected?: string;
  readonly found?: string;
  /** One sentence for a person. */
  readonly message: string;
}
