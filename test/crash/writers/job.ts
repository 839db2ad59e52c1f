import type { Hesitation } from './hesitant-fs.ts';

/** The work of one process in one round. */
export type Job = {
  readonly run: string;
  readonly journal: string;
  readonly process: string;
  readonly seed: number;
  readonly hesitation: Hesitation;
  /** Milliseconds before the start. */
  readonly delay: number;
} & (
  | {
      readonly role: 'rank';
      readonly gang: string;
      readonly rank: number;
      readonly worldSize: number;
      readonly steps: readonly number[];
      readonly lateness: number;
    }
  | { readonly role: 'reader'; readonly reads: number }
);

/**
 * Lines of a journal. Each call writes one line before it starts and one when it is answered, so a
 * kill in between shows.
 */
export type JournalLine =
  | { readonly at: string; readonly call: number; readonly begin: BeginFacts }
  | { readonly at: string; readonly call: number; readonly end: EndFacts };

export type BeginFacts =
  | { readonly kind: 'attempt'; readonly gang: string }
  | { readonly kind: 'commit'; readonly attempt: number; readonly step: number }
  | { readonly kind: 'read' };

export interface EndFacts {
  readonly attempt?: number;
  readonly seen?: readonly { readonly attempt: number; readonly step: number }[];
  readonly outcome?: 'sealed' | 'refused' | 'unknown';
  readonly lastGood?: { readonly attempt: number; readonly step: number } | null;
  /** An unexpected error. */
  readonly error?: string;
}
