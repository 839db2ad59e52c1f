import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { checkPresence } from '../folder/check-sealed.ts';
import { type FoundSeal, readSeals } from '../folder/read-seals.ts';
import type { Store } from '../folder/store.ts';

/** Replaces the save's digest in the name of a trash entry whose content must not be deleted. */
export const SPARED = 'spared';

/**
 * Returns the digest of a save's id for an entry's name: an id from a foreign manifest may be any
 * string.
 */
export function digestOf(save: string): string {
  return createHash('sha256').update(save).digest('hex').slice(0, 16);
}

/**
 * The content of a trash entry:
 *
 * - `unknown`: unreadable
 * - `another`: a wanted checkpoint, or another one than the entry was made for
 * - `whole`: the checkpoint that the entry was made for, with all of its files
 * - `rest`: a part of it, or no checkpoint
 */
type EntryState = 'unknown' | 'another' | 'whole' | 'rest';

/** The states in order: the strongest reason against a deletion first. */
const WEIGHED: readonly EntryState[] = ['unknown', 'another', 'whole'];

/** Returns the state of a trash entry that was made for the save with this digest. */
export function stateOf(store: Store, entry: string, digest: string): EntryState {
  if (digest === '' || store.fs.stat(entry)?.kind !== 'folder') return 'rest';
  if (digest === SPARED) return 'another';
  const states = new Set(readSeals(store.fs, entry).map((seal) => stateOfSeal(store, entry, digest, seal)));
  return WEIGHED.find((state) => states.has(state)) ?? 'rest';
}

function stateOfSeal(store: Store, entry: string, digest: string, { parsed, kind, name }: FoundSeal): EntryState {
  if (!parsed.ok) return parsed.kind === 'unreadable' ? 'unknown' : 'rest';
  const { manifest } = parsed;
  if (digestOf(manifest.save) !== digest) return 'another';
  const problem = checkPresence(store, { root: kind === 'directory' ? join(entry, name) : entry, manifest });
  if (problem === null) return 'whole';
  return problem.state === 'unreadable' ? 'unknown' : 'rest';
}
