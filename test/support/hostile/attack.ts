/** Something a stranger might hand over, and what `verify` has to say about it. */
export interface Attack {
  readonly name: string;
  /** Writes it to `path`, as a file or a folder. */
  readonly write: (path: string) => void;
  readonly exit: number;
  /** Codes that the evidence must contain. */
  readonly codes: readonly string[];
  /** Options besides `--json`. */
  readonly options?: readonly string[];
  /** It fills a report, so that it needs a process of its own. */
  readonly isAlone?: true;
}
