import { join } from 'node:path';
import { naturalOrder } from '../source/natural-order.ts';
import type { Manifest } from './manifest.ts';
import { type FoundSeal, readSeals, runOfSeals } from './read-seals.ts';
import { isRolledBack, readRollback, type Rollback } from './rollback.ts';
import type { Store } from './store.ts';
import { storeError } from './store-error.ts';

/** A checkpoint of this run whose seal is intact. */
export interface SealedCheckpoint {
  readonly name: string;
  /** What a trainer is given. */
  readonly path: string;
  readonly kind: FoundSeal['kind'];
  /** The folder its files' paths start from. */
  readonly root: string;
  readonly manifestFile: string;
  readonly manifest: Manifest;
}

/** Something with a manifest that cannot be taken for a sealed checkpoint. */
export interface BrokenSeal {
  readonly name: string;
  readonly path: string;
  readonly kind: FoundSeal['kind'];
  readonly manifestFile: string;
  readonly problem: 'foreign' | 'outside' | 'limit' | 'invalid' | 'unreadable';
  /** Continues "the manifest …". */
  readonly reason: string;
  /** It says that it is of this run, so that it may be moved aside. */
  readonly isOwn: boolean;
}

export interface Scan {
  /** The run these belong to, null when nothing tells. */
  readonly run: string | null;
  /** Those that count, the newest first. */
  readonly sealed: readonly SealedCheckpoint[];
  /** Those that a rollback has taken out of consideration, the newest first. */
  readonly rolledBack: readonly SealedCheckpoint[];
  /** The decision that did so, null when there is none. */
  readonly rollback: Rollback | null;
  readonly broken: readonly BrokenSeal[];
  /** Sealed checkpoints of other runs; never touched. */
  readonly foreign: readonly { readonly name: string; readonly run: string }[];
}

/** What is sealed in the folder of a run. This, and no pointer, is the truth. */
export function scan(store: Store): Scan {
  let seals: readonly FoundSeal[];
  try {
    seals = readSeals(store.fs, store.path);
  } catch (thrown) {
    throw storeError(thrown, 'list', store.path);
  }
  const run = store.run ?? runOfSeals(seals);
  const rollback = readRollback(store);
  const result = { sealed: [] as SealedCheckpoint[], rolledBack: [] as SealedCheckpoint[], broken: [] as BrokenSeal[] };
  const foreign: { name: string; run: string }[] = [];
  for (const { name, kind, manifestFile, parsed } of seals) {
    const path = join(store.path, name);
    if (!parsed.ok) {
      const { kind: problem, reason } = parsed;
      result.broken.push({ name, path, kind, manifestFile, problem, reason, isOwn: run !== null && parsed.run === run });
    } else if (parsed.manifest.run !== run) foreign.push({ name, run: parsed.manifest.run });
    else {
      const root = kind === 'directory' ? path : store.path;
      const checkpoint = { name, path, kind, root, manifestFile, manifest: parsed.manifest };
      result[isRolledBack(checkpoint, rollback) ? 'rolledBack' : 'sealed'].push(checkpoint);
    }
  }
  result.sealed.sort(newestFirst);
  result.rolledBack.sort(newestFirst);
  return { run, ...result, rollback, foreign };
}

/** By attempt, then step: an attempt that began later knows what it went on from. Times and names only settle a tie. */
export function newestFirst(a: SealedCheckpoint, b: SealedCheckpoint): number {
  return (
    b.manifest.attempt - a.manifest.attempt ||
    b.manifest.step - a.manifest.step ||
    Date.parse(b.manifest.sealedAt) - Date.parse(a.manifest.sealedAt) ||
    naturalOrder(b.name, a.name)
  );
}
