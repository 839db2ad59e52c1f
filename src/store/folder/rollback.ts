import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { at } from '../../seal/names.ts';
import { isCount } from '../../seal/manifest.ts';
import type { Store } from './store.ts';
import { isCode, isNotOurs, storeError } from '../disk/store-error.ts';

const ROLLBACK_SCHEMA = 'holdfast.rollback/1';

/**
 * The decision to exclude newer checkpoints without deleting them. A person takes it, or ranks
 * whose nodes hold different checkpoints.
 */
export interface Rollback {
  /**
   * The newest checkpoint that counts up to `throughAttempt`; null excludes them all, so the run
   * starts fresh.
   */
  readonly to: { readonly name: string; readonly attempt: number; readonly step: number } | null;
  readonly throughAttempt: number;
}

/**
 * Reads the decision that holds, null when there is none. A decision that cannot be read is an
 * error, so that it is never lost in silence.
 */
export function readRollback({ fs, path }: Store): Rollback | null {
  const file = at.rollbackFile(path);
  let text = '';
  try {
    text = fs.readFile(file).toString('utf8');
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT', 'ENOTDIR')) return null;
    if (!isNotOurs(thrown)) throw storeError(thrown, 'read', file);
  }
  const json = parseJson(text);
  const value = json.ok && isObject(json.value) ? json.value : {};
  const { schema, to, throughAttempt } = value;
  if (schema === ROLLBACK_SCHEMA && isCount(throughAttempt)) {
    if (to === null) return { to, throughAttempt };
    if (isObject(to)) {
      const { name, attempt, step } = to;
      if (typeof name === 'string' && isCount(attempt) && isCount(step)) return { to: { name, attempt, step }, throughAttempt };
    }
  }
  throw new HoldfastError('RUN_DAMAGED', {
    message: `${printable(file)} is not a file of ${ROLLBACK_SCHEMA}`,
    hint: 'It holds the decision to roll the run back. Decide again with holdfast rollback, or remove it to forget the decision.',
  });
}

/** Returns the text of the decision's file. */
export function formatRollback(rollback: Rollback): string {
  return `${JSON.stringify({ schema: ROLLBACK_SCHEMA, ...rollback })}\n`;
}

/** True when the decision excludes this checkpoint. */
export function isRolledBack(
  { manifest }: { readonly manifest: { readonly attempt: number; readonly step: number } },
  rollback: Rollback | null,
): boolean {
  if (rollback === null || manifest.attempt > rollback.throughAttempt) return false;
  const { to } = rollback;
  if (to === null) return true;
  return manifest.attempt > to.attempt || (manifest.attempt === to.attempt && manifest.step > to.step);
}
