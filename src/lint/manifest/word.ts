import type { Span } from '../source/source.ts';

/** A word of a command line, with its place in the file. */
export interface Word extends Span {
  readonly text: string;
}
