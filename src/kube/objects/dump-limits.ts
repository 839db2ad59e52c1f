/**
 * The limits for reading manifests and dumps. A part beyond a limit is named, and the rest is still
 * judged.
 */
export const DUMP_LIMITS = {
  /** A dump of a thousand pods and ten thousand events has twenty million bytes. */
  fileBytes: 128 * 1024 * 1024,
  totalBytes: 256 * 1024 * 1024,
  /** YAML takes a hundred times as long to parse as JSON, and hand-written files are shorter. */
  yamlBytes: 16 * 1024 * 1024,
  /** A document with more uses of an anchor counts as a bomb. */
  aliases: 1000,
  files: 20_000,
  objects: 300_000,
  problems: 200,
} as const;

/** A part that could not be read, and its place. Lines and columns count from 1. */
export interface DumpProblem {
  readonly source: string;
  readonly line: number | null;
  readonly column: number | null;
  readonly reason: string;
}
