/**
 * The effect of a piece of evidence on the verdict. The first five decide it, in this order. A
 * warning, a note and a security finding stand beside it.
 */
export type Effect = 'in-progress' | 'corrupt' | 'zombie' | 'partial' | 'unreadable' | 'warning' | 'note' | 'security';

/** One entry of the catalogue: the meaning of a code, at length. */
export interface EvidenceKind {
  readonly effect: Effect;
  /** A few words, as a heading. */
  readonly title: string;
  /** The meaning, the usual cause and the action to take. Shown by `holdfast explain CODE`. */
  readonly explain: string;
}
