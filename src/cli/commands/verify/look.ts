import type { Style } from '../../output/style.ts';

/** The look of a report: its colours, and the width of its text. */
export interface Look {
  readonly style: Style;
  readonly columns: number;
}
