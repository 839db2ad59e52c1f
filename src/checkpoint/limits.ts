/** Bounds on what a reader may do with bytes that come from strangers. Every loop and every allocation answers to one of these. */
export const LIMITS = {
  /** Longest single read. */
  readBytes: 64 * 1024 * 1024,
  /** Largest JSON, YAML or text document that is parsed. */
  documentBytes: 32 * 1024 * 1024,
  /** Deepest nesting of JSON, pickles, msgpack and other trees. */
  depth: 256,
  /** Most entries of one archive, index or group. */
  entries: 1_000_000,
  /** Most names of one folder. */
  directoryEntries: 250_000,
  /** Most files and folders looked at below one path. */
  treeEntries: 500_000,
  /** Files kept open at a time. */
  openFiles: 64,
  /** Deepest folder that is searched for checkpoints. */
  treeDepth: 12,
  /** Longest pickle that is walked. */
  pickleBytes: 64 * 1024 * 1024,
  /** Most opcodes of one pickle. */
  pickleOps: 8_000_000,
  /** Most evidence kept of one code in one checkpoint; the rest is counted. */
  evidencePerCode: 20,
} as const;
