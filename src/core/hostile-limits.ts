/**
 * Bounds for readers of untrusted bytes. Every loop and every allocation stays within one of these.
 */
export const LIMITS = {
  /** Longest single read. */
  readBytes: 64 * 1024 * 1024,
  /** Largest JSON, YAML or text document that is parsed. */
  documentBytes: 32 * 1024 * 1024,
  /** Largest file of settings, credentials or certificates that an option or a variable names. */
  settingsBytes: 4 * 1024 * 1024,
  /** Deepest nesting of JSON, pickles, msgpack and other trees. */
  depth: 256,
  /** Most entries of one archive, index or group. */
  entries: 1_000_000,
  /** Most names of one folder. */
  directoryEntries: 250_000,
  /** Most files and folders visited below one path, and most characters in all their names. */
  treeEntries: 500_000,
  treeNames: 24 * 1024 * 1024,
  /** Most checkpoints judged below one path. */
  checkpoints: 10_000,
  /** Most files below one path that are opened only to detect their format. */
  strangers: 50_000,
  /** Files kept open at a time. */
  openFiles: 64,
  /** Deepest folder that is searched for checkpoints. */
  treeDepth: 12,
  /** Longest pickle that is walked. */
  pickleBytes: 64 * 1024 * 1024,
  /** Most opcodes of one pickle. */
  pickleOps: 8_000_000,
  /** Most evidence kept per code and checkpoint; the rest is only counted. */
  evidencePerCode: 20,
  /**
   * Most evidence kept of all checkpoints below one path; beyond it, one per code and checkpoint.
   */
  evidence: 20_000,
  /** Most checksums of one checkpoint. */
  checks: 200_000,
  /**
   * Most distinct imports of the pickles of one checkpoint, and most ranks whose random state is
   * listed.
   */
  globals: 20_000,
  ranks: 65_536,
} as const;
