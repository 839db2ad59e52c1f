import type { EvidenceCode } from './catalogue.ts';
import type { Effect } from './codes/kind.ts';

/** One finding about a checkpoint, with everything needed to confirm it by hand. */
export interface Evidence {
  readonly code: EvidenceCode;
  readonly effect: Effect;
  /** The file of the finding, below the given path; null when it concerns the whole checkpoint. */
  readonly file: string | null;
  /** Byte offset in that file. */
  readonly offset?: number;
  readonly expected?: string;
  readonly found?: string;
  /** One sentence for a person. */
  readonly message: string;
}
