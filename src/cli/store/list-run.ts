import { readShipped } from '../../checkpoint/ship/shipped.ts';
import { checkSealed, type Checked, type CheckLevel } from '../../checkpoint/store/check-sealed.ts';
import { bytesOf } from '../../checkpoint/store/prune.ts';
import { listPins } from '../../checkpoint/store/pins.ts';
import { listQuarantine, type Quarantined } from '../../checkpoint/store/quarantine.ts';
import { type BrokenSeal, scan, type SealedCheckpoint } from '../../checkpoint/store/scan.ts';
import { readRun } from '../../checkpoint/store/store.ts';
import type { Verdict } from '../../checkpoint/verdict.ts';
import type { Clock } from '../../core/clock.ts';
import type { ProgressUpdate } from '../output/progress.ts';

interface ListOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly level: CheckLevel;
  readonly onProgress: (update: ProgressUpdate) => void;
}

/** One sealed checkpoint as `ls --json` tells it. */
export interface ListedCheckpoint {
  readonly name: string;
  readonly path: string;
  readonly step: number;
  readonly attempt: number;
  readonly save: string;
  readonly worldSize: number;
  readonly sealedAt: string;
  readonly format: string | null;
  readonly files: number;
  readonly bytes: number;
  readonly verdict: Verdict;
  /** `good` at the level that was asked for; else `bad`, `unreadable` or `busy`. */
  readonly state: Checked['state'];
  readonly code: string | null;
  readonly reason: string | null;
  readonly isLastGood: boolean;
  readonly isPinned: boolean;
  readonly isRolledBack: boolean;
  /** Where copies of it are. */
  readonly where: readonly string[];
}

/** What `ls --json` prints; documented in docs/reference/store-json.md. */
export interface ListReport {
  readonly schema: 'holdfast.ls/1';
  readonly path: string;
  readonly run: string | null;
  readonly level: CheckLevel;
  readonly checkpoints: readonly ListedCheckpoint[];
  readonly lastGood: string | null;
  readonly broken: readonly BrokenSeal[];
  readonly foreign: readonly { readonly name: string; readonly run: string }[];
  readonly quarantined: readonly Quarantined[];
}

export async function listRun(path: string, { clock, signal, level, onProgress }: ListOptions): Promise<ListReport> {
  const store = readRun(path, { clock });
  const { run, sealed, rolledBack, broken, foreign } = scan(store);
  const pins = listPins(store);
  const checkpoints: ListedCheckpoint[] = [];
  let lastGood: string | null = null;
  const all = [...sealed.map((one) => [one, false] as const), ...rolledBack.map((one) => [one, true] as const)];
  for (const [index, [checkpoint, isRolledBack]] of all.entries()) {
    signal.throwIfAborted();
    onProgress({ phase: 'checking', done: index, total: all.length, unit: 'checkpoints', current: checkpoint.name });
    const checked = await checkSealed(store, checkpoint, level, { signal });
    const isLastGood = lastGood === null && !isRolledBack && checked.state === 'good';
    if (isLastGood) lastGood = checkpoint.path;
    const copies = readShipped(store, checkpoint.name, checkpoint.manifest.save);
    const where = ['local', ...copies.map(({ url }) => url)];
    checkpoints.push(describe(checkpoint, checked, { isLastGood, isRolledBack, isPinned: pins.has(checkpoint.name), where }));
  }
  return { schema: 'holdfast.ls/1', path, run, level, checkpoints, lastGood, broken, foreign, quarantined: listQuarantine(store) };
}

function describe(
  checkpoint: SealedCheckpoint,
  checked: Checked,
  marks: Pick<ListedCheckpoint, 'isLastGood' | 'isPinned' | 'isRolledBack' | 'where'>,
): ListedCheckpoint {
  const { name, path, manifest } = checkpoint;
  const { step, attempt, save, worldSize, sealedAt, format, files } = manifest;
  const [code, reason] = checked.state === 'good' ? [null, null] : [checked.code, checked.reason];
  return {
    name,
    path,
    step,
    attempt,
    save,
    worldSize,
    sealedAt,
    format,
    files: files.length,
    bytes: bytesOf(checkpoint),
    verdict: checked.verdict,
    state: checked.state,
    code,
    reason,
    ...marks,
  };
}
