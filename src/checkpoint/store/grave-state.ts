import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { checkPresence } from './check-sealed.ts';
import { type FoundSeal, readSeals } from './read-seals.ts';
import type { Store } from './store.ts';

/** In place of the digest of a save in a grave's name: what lies there is not to be deleted. */
export const SPARED = 'spared';

/** Saves may be called anything, also by whoever made a manifest elsewhere. */
export function digestOf(save: string): string {
  return createHash('sha256').update(save).digest('hex').slice(0, 16);
}

/**
 * What lies in a grave:
 *
 * - `unknown`: what the disk would not tell
 * - `another`: what came to be wanted, or had the name of the one that the grave was dug for
 * - `whole`: that one, with all of its files
 * - `rest`: what is left of it, or what is no checkpoint
 */
type GraveState = 'unknown' | 'another' | 'whole' | 'rest';

/** What speaks against deleting goes first. */
const WEIGHED: readonly GraveState[] = ['unknown', 'another', 'whole'];

export function stateOf(store: Store, grave: string, digest: string): GraveState {
  if (digest === '' || store.fs.stat(grave)?.kind !== 'folder') return 'rest';
  if (digest === SPARED) return 'another';
  const states = new Set(readSeals(store.fs, grave).map((seal) => stateOfSeal(store, grave, digest, seal)));
  return WEIGHED.find((state) => states.has(state)) ?? 'rest';
}

function stateOfSeal(store: Store, grave: string, digest: string, { parsed, kind, name }: FoundSeal): GraveState {
  if (!parsed.ok) return parsed.kind === 'unreadable' ? 'unknown' : 'rest';
  const { manifest } = parsed;
  if (digestOf(manifest.save) !== digest) return 'another';
  const problem = checkPresence(store, { root: kind === 'directory' ? join(grave, name) : grave, manifest });
  if (problem === null) return 'whole';
  return problem.state === 'unreadable' ? 'unknown' : 'rest';
}
