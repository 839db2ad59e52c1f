import type { Skipped } from '../../../store/resume/last-good.ts';
import { bytesOf, prune } from '../../../store/retention/prune.ts';
import type { KeepReason, Retention } from '../../../store/retention/retention.ts';
import { openExistingRun, readExistingRun } from '../../../store/folder/store.ts';
import type { Clock } from '../../../core/clock.ts';
import type { ProgressUpdate } from '../../output/progress.ts';

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
  /** The checkpoint that prune verified before any deletion. */
  readonly lastGood: string | null;
  readonly kept: readonly (Row & { readonly because: readonly KeepReason[] })[];
  readonly removed: readonly Row[];
  readonly removedBytes: number;
  readonly skipped: readonly Skipped[];
  /** Where no checkpoint is good: the quarantined ones that would count. */
  readonly withheld: readonly string[];
  /** How many sealed checkpoints a rollback excludes. */
  readonly rolledBack: number;
}

/** Prunes a run, or plans it, and returns the report. */
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

/** Says why prune deleted nothing for lack of a good checkpoint. */
export function whyNothingGoes({ skipped, withheld, rolledBack }: PruneReport): string {
  const aside = withheld.length === 0 ? '' : `; ${withheld.length} in quarantine, which holdfast quarantine RUN lists`;
  if (skipped.length + withheld.length === 0 && rolledBack > 0)
    return `the run was rolled back from every checkpoint here, and they stay until a newer one is sealed`;
  return `no sealed checkpoint of the run is good${aside}`;
}
