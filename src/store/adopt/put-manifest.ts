import { dirname, join } from 'node:path';
import { attemptToSealFor } from './adopt-attempt.ts';
import { fencedError, isFenced } from '../attempt/attempt.ts';
import { removeQuietly } from '../disk/delete-tree.ts';
import { withheldIn } from '../resume/last-good.ts';
import { at, STAGED_MANIFEST } from '../../seal/names.ts';
import { formatReadable, type Manifest, MANIFEST_SCHEMA, type SealedFile } from '../../seal/manifest.ts';
import { attemptInHistory } from './place-in-history.ts';
import { renameIfFree } from '../disk/rename-if-free.ts';
import { markOwner } from '../trash/save-owner.ts';
import { scan } from '../folder/scan.ts';
import { notSealable, type Place } from './seal-place.ts';
import type { OpenStore } from '../folder/store.ts';
import { isCode } from '../disk/store-error.ts';

/** What a new manifest says about its checkpoint. */
export interface SealFacts {
  readonly step: number;
  readonly worldSize: number;
  readonly format: string | null;
  readonly files: readonly SealedFile[];
  /** When the last file was written, by the clock of the file system. */
  readonly writtenMs: number;
  /**
   * The attempt to seal for. Undefined means the newest; then a checkpoint older than the newest
   * one counts as older.
   */
  readonly attempt: number | undefined;
}

/**
 * Writes the manifest into the attempt's staging, and renames it into place. When a newer attempt
 * wins, it writes the manifest again for that one. Returns null when another process has sealed the
 * checkpoint meanwhile.
 */
export function putManifest(store: OpenStore, place: Place, facts: SealFacts): Manifest | null {
  for (;;) {
    const writer = attemptToSealFor(store, facts.attempt);
    const manifest: Manifest = {
      schema: MANIFEST_SCHEMA,
      run: store.run,
      attempt: facts.attempt ?? attemptOf(store, facts, writer),
      save: store.makeId(),
      step: facts.step,
      worldSize: facts.worldSize,
      origin: 'adopted',
      format: facts.format,
      sealedAt: new Date(store.clock.now()).toISOString(),
      bootId: store.bootId,
      receipts: [],
      files: facts.files,
    };
    const outcome = renameManifest(store, place, manifest, writer);
    if (outcome !== 'fenced') return outcome === 'sealed' ? manifest : null;
    if (facts.attempt !== undefined) throw fencedError(writer);
  }
}

function attemptOf(store: OpenStore, { step, writtenMs }: SealFacts, newestAttempt: number): number {
  const found = scan(store);
  const decided = found.rollback === null ? null : store.fs.stat(at.rollbackFile(store.path));
  const withheld = withheldIn(store, found).map((one) => ({ attempt: one.attempt ?? 0, step: one.step ?? 0 }));
  return attemptInHistory({
    step,
    newestAttempt,
    counting: [...found.sealed.map(({ manifest }) => manifest), ...withheld],
    rolledBack: found.rolledBack.map(({ manifest }) => manifest),
    rollback: found.rollback,
    isBeforeRollback: decided !== null && writtenMs < decided.mtimeMs,
  });
}

/**
 * The staging belongs to the attempt that writes, so that a newer one fences it, whichever attempt
 * the manifest names.
 */
function renameManifest(store: OpenStore, place: Place, manifest: Manifest, writer: number): 'sealed' | 'fenced' | 'taken' {
  const { fs, path } = store;
  const folder = join(at.staging(path, writer), manifest.save);
  const staged = join(folder, STAGED_MANIFEST);
  try {
    fs.mkdir(folder);
    markOwner(store, folder);
    fs.writeFile(staged, formatReadable(manifest, place.path));
    fs.fsyncFile(staged);
    if (isFenced(store, writer)) return 'fenced';
    if (!renameIfFree(fs, staged, place.manifestFile)) return 'taken';
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT') && isFenced(store, writer)) return 'fenced';
    if (isCode(thrown, 'EXDEV')) throw notSealable(place.path, 'lies on another file system than the run', 'Copy it there first.');
    throw thrown;
  } finally {
    // An empty folder in the staging is harmless.
    removeQuietly(fs, folder);
  }
  fs.fsyncFolder(dirname(place.manifestFile));
  return 'sealed';
}
