import { join } from 'node:path';

/** The manifest inside a checkpoint that is a directory. */
export const MANIFEST_NAME = 'holdfast.manifest.json';
/**
 * The end of the manifest's name for a checkpoint of files beside others: `model.pt.holdfast.json`.
 */
export const BESIDE_SUFFIX = '.holdfast.json';
/** The files of one TensorFlow checkpoint: `ckpt-300.index`, `ckpt-300.data-00000-of-00002`, … */
const SET_MEMBER = /^(?<prefix>.+)\.(?:index|data-\d{5}-of-\d{5})$/s;

/** The common prefix of the set that this file belongs to; null without a set. */
export function setOf(name: string): string | null {
  return SET_MEMBER.exec(name)?.groups?.['prefix'] ?? null;
}

/** The folder of all other data of Holdfast about a run, in the run's folder. */
export const STORE_FOLDER = '.holdfast';

/** The folders inside {@link STORE_FOLDER}; made together with it, in one step. */
export const STORE_FOLDERS = ['attempts', 'fenced', 'pins', 'quarantine', 'trash'] as const;

/** The paths inside a run. `run` is the run's folder. */
export const at = {
  store: (run: string, ...below: readonly string[]) => join(run, STORE_FOLDER, ...below),
  runFile: (run: string) => join(run, STORE_FOLDER, 'run.json'),
  lastGoodFile: (run: string) => join(run, STORE_FOLDER, 'last-good.json'),
  /** The name of the checkpoint that is being shipped. */
  heldFile: (run: string) => join(run, STORE_FOLDER, 'held-for-shipping'),
  rollbackFile: (run: string) => join(run, STORE_FOLDER, 'rollback.json'),
  attempt: (run: string, attempt: number) => join(run, STORE_FOLDER, 'attempts', String(attempt)),
  attemptFile: (run: string, attempt: number) => join(run, STORE_FOLDER, 'attempts', String(attempt), 'attempt.json'),
  deadlineFile: (run: string, attempt: number) => join(run, STORE_FOLDER, 'attempts', String(attempt), 'deadline.json'),
  staging: (run: string, attempt: number) => join(run, STORE_FOLDER, 'attempts', String(attempt), 'staging'),
  fenced: (run: string, attempt: number) => join(run, STORE_FOLDER, 'fenced', String(attempt)),
} as const;

/**
 * The entries of one save that still need a rename to their final place; the start of a newer
 * attempt moves these aside.
 */
export const STAGED_DATA = 'data';
/** The name of the manifest of a save that is still staged. */
export const STAGED_MANIFEST = 'manifest';
