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
  /** Most files and folders looked at below one path, and the characters of all their names. */
  treeEntries: 500_000,
  treeNames: 24 * 1024 * 1024,
  /** Most checkpoints judged below one path. */
  checkpoints: 10_000,
  /** Most files below one path that are opened only to see what they are. */
  strangers: 50_000,
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
  /** Most evidence kept of all checkpoints below one path; beyond it, one of each code and checkpoint. */
  evidence: 20_000,
  /** Most checksums of one checkpoint. */
  checks: 200_000,
  /** Most distinct names that the pickles of one checkpoint would import, and most ranks whose random state is listed. */
  globals: 20_000,
  ranks: 65_536,
} as const;
