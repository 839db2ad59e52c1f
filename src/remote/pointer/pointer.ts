import { HoldfastError } from '../../core/errors.ts';
import { isObject, type Json, parseJson } from '../../core/json.ts';
import { isCount } from '../../seal/manifest.ts';
import { BESIDE_SUFFIX } from '../../seal/names.ts';
import { nameProblem } from '../../seal/relative-path.ts';
import { isRolledBack, type Rollback } from '../../store/folder/rollback.ts';
import type { ObjectStore } from '../backends/backend.ts';

/** The schema that a pointer document names. */
export const POINTER_SCHEMA = 'holdfast.remote-last-good/1';
/** The key of the pointer below the prefix. */
export const POINTER_KEY = '.holdfast/last-good.json';
const MAX_BYTES = 64 * 1024;

/** The pointer: the newest checkpoint that was shipped completely. */
export interface RemotePointer {
  readonly run: string;
  readonly attempt: number;
  readonly step: number;
  readonly save: string;
  readonly name: string;
  /** Where the manifest lies: inside the checkpoint's folder, or beside its files. */
  readonly kind: 'directory' | 'files';
}

/** How new a checkpoint is: by attempt, then by step. */
export interface Age {
  readonly attempt: number;
  readonly step: number;
}

/** The largest attempt number that Holdfast accepts, so that later attempts still have numbers. */
export const MAX_ATTEMPT = 1e14;

/** Whether a value from outside is the number of an attempt. */
function isAttempt(value: Json | undefined): value is number {
  return isCount(value) && value <= MAX_ATTEMPT;
}

/**
 * Says why no copy can have this name, or null when one can. The folder of a run ignores names with
 * a leading dot. It takes a name with a manifest's ending for a manifest.
 */
export function copyNameProblem(name: string): string | null {
  const problem = nameProblem(name);
  if (problem !== null) return problem;
  if (name.startsWith('.')) return 'begins with a dot';
  return name.endsWith(BESIDE_SUFFIX) ? `ends with ${BESIDE_SUFFIX}, as manifests do` : null;
}

/** Whether the pointer moved to a copy. */
export type PointerMove =
  | { readonly moved: true }
  /** The pointer names something newer, of this attempt and step. */
  | { readonly moved: false; readonly attempt: number; readonly step: number };

/** Reads the pointer. `pointer` is null when the object there is not a pointer. */
export async function readPointer(
  remote: ObjectStore,
): Promise<{ readonly pointer: RemotePointer | null; readonly version: string } | null> {
  try {
    const found = await remote.read(POINTER_KEY, MAX_BYTES);
    return found === null ? null : { pointer: parsePointer(found.bytes.toString('utf8')), version: found.version };
  } catch (thrown) {
    // Too large to be a pointer. The manifests are the truth, so fetch still finds the copies.
    if (thrown instanceof HoldfastError && thrown.code === 'REMOTE_INVALID') return { pointer: null, version: '' };
    throw thrown;
  }
}

function parsePointer(text: string): RemotePointer | null {
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) return null;
  const { schema, run, attempt, step, save, name, kind } = json.value;
  if (schema !== POINTER_SCHEMA || typeof run !== 'string' || typeof save !== 'string' || typeof name !== 'string') return null;
  if (!isAttempt(attempt) || !isCount(step) || copyNameProblem(name) !== null || (kind !== 'directory' && kind !== 'files')) return null;
  return { run, attempt, step, save, name, kind };
}

/** Compares by attempt, then by step, like the folder of a run. */
export function isNewer(one: Age, other: Age): boolean {
  return one.attempt > other.attempt || (one.attempt === other.attempt && one.step > other.step);
}

/** Whether the rollback excludes a checkpoint of this age, whatever its name. */
export function isLeftOut({ attempt, step }: Age, rollback: Rollback | null): boolean {
  return isRolledBack({ manifest: { attempt, step } }, rollback);
}
