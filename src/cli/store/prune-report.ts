import type { Skipped } from '../../checkpoint/store/last-good.ts';
import { bytesOf, prune } from '../../checkpoint/store/prune.ts';
import type { KeepReason, Retention } from '../../checkpoint/store/retention.ts';
import { openExistingRun, readExistingRun } from '../../checkpoint/store/store.ts';
import type { Clock } from '../../core/clock.ts';
import type { ProgressUpdate } from '../output/progress.ts';

interface PruneOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly retention: Retention;
  readonly level: 'auto' | 'deep';
  readonly isDryRun: boolean;
  readonly onProgress: (update: ProgressUpdate) => void;
}

interface Row {
  readonly path: string;
  readonly step: number;
  readonly attempt: number;
  readonly bytes: number;
}

/** What `prune --json` prints; documented in docs/reference/store-json.md. */
export interface PruneReport {
  readonly schema: 'holdfast.prune/1';
  readonly isDryRun: boolean;
  /** The checkpoint that was verified before anything went. */
  readonly lastGood: string | null;
  readonly kept: readonly (Row & { readonly because: readonly KeepReason[] })[];
  readonly removed: readonly Row[];
  readonly removedBytes: number;
  readonly skipped: readonly Skipped[];
  /** Where nothing is good: what lies in quarantine and would count. */
  readonly withheld: readonly string[];
  /** Sealed, and out of consideration: the run was rolled back from them. */
  readonly rolledBack: number;
}

export async function pruneReport(path: string, options: PruneOptions): Promise<PruneReport> {
  const { clock, signal, retention, level, isDryRun, onProgress } = options;
  const store = isDryRun ? readExistingRun(path, { clock }) : openExistingRun(path, { clock });
  const pruned = await prune(store, {
    ...{ retention, level, isDryRun, signal },
    onBytes: (done, total, name) => onProgress({ phase: 'reading', done, total, unit: 'bytes', current: name }),
  });
  const row = (checkpoint: (typeof pruned.removed)[number]): Row => ({
    path: checkpoint.path,
    step: checkpoint.manifest.step,
    attempt: checkpoint.manifest.attempt,
    bytes: bytesOf(checkpoint),
  });
  return {
    schema: 'holdfast.prune/1',
    isDryRun,
    lastGood: pruned.lastGood.checkpoint?.path ?? null,
    kept: pruned.keep.map(({ checkpoint, because }) => ({ ...row(checkpoint), because })),
    removed: pruned.removed.map(row),
    removedBytes: pruned.removedBytes,
    skipped: pruned.lastGood.skipped,
    withheld: pruned.lastGood.withheld.map(({ id }) => id),
    rolledBack: pruned.lastGood.scan.rolledBack.length,
  };
}

/** Why no sealed checkpoint was found that anything could be deleted for. */
export function whyNothingGoes({ skipped, withheld, rolledBack }: PruneReport): string {
  const aside = withheld.length === 0 ? '' : `; ${withheld.length} in quarantine, which holdfast quarantine RUN lists`;
  if (skipped.length + withheld.length === 0 && rolledBack > 0)
    return `the run was rolled back from everything that is sealed here, and that stays until something newer is sealed`;
  return `no sealed checkpoint of the run is good${aside}`;
}
