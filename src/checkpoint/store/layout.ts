import { join } from 'node:path';

/** The manifest inside a checkpoint that is a directory. */
export const MANIFEST_NAME = 'holdfast.manifest.json';
/** What the manifest of a checkpoint made of files beside others ends with: `model.pt.holdfast.json`. */
export const BESIDE_SUFFIX = '.holdfast.json';
/** The files of one TensorFlow checkpoint: `ckpt-300.index`, `ckpt-300.data-00000-of-00002`, … */
const SET_MEMBER = /^(?<prefix>.+)\.(?:index|data-\d{5}-of-\d{5})$/s;

/** What the files of the set begin with that this is one of, null when it is of none. */
export function setOf(name: string): string | null {
  return SET_MEMBER.exec(name)?.groups?.['prefix'] ?? null;
}

/** Everything else Holdfast keeps about a run, in the run's folder. */
export const STORE_FOLDER = '.holdfast';

/** The folders inside {@link STORE_FOLDER}; made together with it, in one step. */
export const STORE_FOLDERS = ['attempts', 'fenced', 'pins', 'quarantine', 'trash'] as const;

/** Where things of a run lie. `run` is the run's folder. */
export const at = {
  store: (run: string, ...below: readonly string[]) => join(run, STORE_FOLDER, ...below),
  runFile: (run: string) => join(run, STORE_FOLDER, 'run.json'),
  lastGoodFile: (run: string) => join(run, STORE_FOLDER, 'last-good.json'),
  /** The name of the checkpoint that is being sent. */
  heldFile: (run: string) => join(run, STORE_FOLDER, 'held-for-shipping'),
  rollbackFile: (run: string) => join(run, STORE_FOLDER, 'rollback.json'),
  attempt: (run: string, attempt: number) => join(run, STORE_FOLDER, 'attempts', String(attempt)),
  attemptFile: (run: string, attempt: number) => join(run, STORE_FOLDER, 'attempts', String(attempt), 'attempt.json'),
  deadlineFile: (run: string, attempt: number) => join(run, STORE_FOLDER, 'attempts', String(attempt), 'deadline.json'),
  staging: (run: string, attempt: number) => join(run, STORE_FOLDER, 'attempts', String(attempt), 'staging'),
  fenced: (run: string, attempt: number) => join(run, STORE_FOLDER, 'fenced', String(attempt)),
} as const;

/** What of one save is still to be renamed to its final place; starting a newer attempt moves these aside. */
export const STAGED_DATA = 'data';
export const STAGED_MANIFEST = 'manifest';
