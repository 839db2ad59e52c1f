import { join } from 'node:path';
import { naturalOrder } from '../../bytes/source/natural-order.ts';
import type { Manifest } from '../../seal/manifest.ts';
import { type FoundSeal, readSeals, runOfSeals } from './read-seals.ts';
import { isRolledBack, readRollback, type Rollback } from './rollback.ts';
import type { Store } from './store.ts';
import { storeError } from '../disk/store-error.ts';

/** A checkpoint of this run whose seal is intact. */
export interface SealedCheckpoint {
  readonly name: string;
  /** The path to give to a trainer. */
  readonly path: string;
  readonly kind: FoundSeal['kind'];
  /** The folder that its files' paths start from. */
  readonly root: string;
  readonly manifestFile: string;
  readonly manifest: Manifest;
}

/** An entry whose manifest is not a valid seal. */
export interface BrokenSeal {
  readonly name: string;
  readonly path: string;
  readonly kind: FoundSeal['kind'];
  readonly manifestFile: string;
  readonly problem: 'foreign' | 'outside' | 'limit' | 'invalid' | 'unreadable';
  /** Continues "the manifest …". */
  readonly reason: string;
  /** True when it claims to be of this run, so that it may be moved to quarantine. */
  readonly isOwn: boolean;
}

/** The sealed content of a run's folder. */
export interface Scan {
  /** The run that these belong to, null when it is unknown. */
  readonly run: string | null;
  /** The checkpoints that count, the newest first. */
  readonly sealed: readonly SealedCheckpoint[];
  /** The checkpoints that a rollback has excluded, the newest first. */
  readonly rolledBack: readonly SealedCheckpoint[];
  /** The decision that excluded them, null when there is none. */
  readonly rollback: Rollback | null;
  readonly broken: readonly BrokenSeal[];
  /** Sealed checkpoints of other runs, which Holdfast never touches. */
  readonly foreign: readonly { readonly name: string; readonly run: string }[];
}

/**
 * Lists the sealed checkpoints in the folder of a run. This list, and not a pointer, is the truth.
 */
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

/**
 * Orders by attempt, then step, because a later attempt knows its predecessor's checkpoints. Times
 * and names only settle a tie.
 */
export function newestFirst(a: SealedCheckpoint, b: SealedCheckpoint): number {
  return (
    b.manifest.attempt - a.manifest.attempt ||
    b.manifest.step - a.manifest.step ||
    Date.parse(b.manifest.sealedAt) - Date.parse(a.manifest.sealedAt) ||
    naturalOrder(b.name, a.name)
  );
}
