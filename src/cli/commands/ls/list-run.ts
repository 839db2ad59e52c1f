import { setImmediate as nextTurn } from 'node:timers/promises';
import { readShipped } from '../../../remote/copy/shipped.ts';
import { checkSealed, type Checked, type CheckLevel } from '../../../store/folder/check-sealed.ts';
import { readsFirst, withheldIn } from '../../../store/resume/last-good.ts';
import { bytesOf } from '../../../store/retention/prune.ts';
import { listPins } from '../../../store/retention/pins.ts';
import { listQuarantine, type Quarantined } from '../../../store/resume/quarantine.ts';
import type { Rollback } from '../../../store/folder/rollback.ts';
import { type BrokenSeal, scan, type SealedCheckpoint } from '../../../store/folder/scan.ts';
import { readRun, type Store } from '../../../store/folder/store.ts';
import type { Verdict } from '../../../verify/verdict.ts';
import type { Clock } from '../../../core/clock.ts';
import type { ProgressUpdate } from '../../output/progress.ts';

interface ListOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly level: 'quick' | 'deep';
  readonly onProgress: (update: ProgressUpdate) => void;
}

/** One sealed checkpoint in `ls --json`. */
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
  /** `good` at this checkpoint's level, or the kind of problem. */
  readonly state: Checked['state'];
  /** How thoroughly it was checked; null when the check found a problem. */
  readonly level: CheckLevel | null;
  readonly code: string | null;
  readonly reason: string | null;
  /** A doubt about a checkpoint that is still good. */
  readonly warning: string | null;
  readonly isLastGood: boolean;
  readonly isPinned: boolean;
  readonly isRolledBack: boolean;
  /** The places of its copies. */
  readonly where: readonly string[];
}

/** What `ls --json` prints; documented in docs/reference/store-json.md. */
export interface ListReport {
  readonly schema: 'holdfast.ls/1';
  readonly path: string;
  readonly run: string | null;
  readonly level: 'quick' | 'deep';
  readonly checkpoints: readonly ListedCheckpoint[];
  readonly lastGood: string | null;
  /**
   * Why `resume` first reads every byte of it, which this list has not done. Null when `resume`
   * does not, or `--deep` has.
   */
  readonly readFirst: ReturnType<typeof readsFirst>;
  readonly broken: readonly BrokenSeal[];
  readonly foreign: readonly { readonly name: string; readonly run: string }[];
  readonly quarantined: readonly Quarantined[];
  /**
   * No sealed checkpoint is left, and one in quarantine would count. The run then refuses to start
   * fresh.
   */
  readonly isWithheld: boolean;
  /**
   * The target of a rollback, when it and everything else that would count is missing. The run then
   * refuses to start fresh.
   */
  readonly missingTarget: Rollback['to'];
}

/**
 * The most files whose structure ls reads, newest checkpoints first. It compares older ones only
 * with their seals.
 */
const MOST_FILES = 1000;

/** Lists the sealed checkpoints of a run and checks each one. */
export async function listRun(path: string, options: ListOptions): Promise<ListReport> {
  const { clock, level } = options;
  const store = readRun(path, { clock });
  const found = scan(store);
  const { run, sealed, rolledBack, rollback, broken, foreign } = found;
  const looked = await lookAtEach(store, [...sealed, ...rolledBack], options);
  const taken = lastGoodOf(looked.slice(0, sealed.length));
  const pins = listPins(store);
  const checkpoints = looked.map(({ checkpoint, checked }, index) =>
    describe(checkpoint, checked, {
      isLastGood: checkpoint === taken,
      isRolledBack: index >= sealed.length,
      isPinned: pins.has(checkpoint.name),
      where: ['local', ...copiesOf(store, checkpoint)],
    }),
  );
  const quarantined = listQuarantine(store);
  const withheld = withheldIn(store, found);
  const isNothing = sealed.length + broken.length + withheld.length === 0;
  return {
    schema: 'holdfast.ls/1',
    path,
    run,
    level,
    checkpoints,
    lastGood: taken?.path ?? null,
    readFirst: taken === null || level === 'deep' ? null : readsFirst(store, taken),
    broken,
    foreign,
    quarantined,
    isWithheld: checkpoints.length + broken.length === 0 && withheld.length > 0,
    missingTarget: isNothing ? (rollback?.to ?? null) : null,
  };
}

/** The addresses of a checkpoint's copies, ending in the copy's name where that differs. */
function copiesOf(store: Store, { name, manifest }: SealedCheckpoint): readonly string[] {
  return readShipped(store, name, manifest.save).map((copy) =>
    copy.name === null || copy.name === name ? copy.url : `${copy.url}/${copy.name}`,
  );
}

interface Looked {
  readonly checkpoint: SealedCheckpoint;
  readonly checked: Checked;
}

async function lookAtEach(store: Store, all: readonly SealedCheckpoint[], options: ListOptions): Promise<readonly Looked[]> {
  const { signal, onProgress } = options;
  const looked: Looked[] = [];
  const isDeep = options.level === 'deep';
  const total = all.reduce((sum, one) => sum + bytesOf(one), 0);
  let [files, read] = [0, 0];
  for (const [index, checkpoint] of all.entries()) {
    const current = checkpoint.name;
    const before = read;
    const onBytes = (done: number): void => onProgress({ phase: 'reading', done: before + done, total, unit: 'bytes', current });
    if (!isDeep) onProgress({ phase: 'checking', done: index, total: all.length, unit: 'checkpoints', current });
    await nextTurn();
    signal.throwIfAborted();
    // Check every checkpoint that `resume` would check, in the same way.
    const isOlder = looked.some(({ checked }) => checked.state === 'good');
    files += checkpoint.manifest.files.length;
    const level = options.level === 'quick' && isOlder && files > MOST_FILES ? 'seal' : options.level;
    looked.push({ checkpoint, checked: await checkSealed(store, checkpoint, level, { signal, ...(isDeep ? { onBytes } : {}) }) });
    read += bytesOf(checkpoint);
  }
  return looked;
}

/** The checkpoint that `resume` takes: the newest without a doubt, else the newest. */
function lastGoodOf(looked: readonly Looked[]): SealedCheckpoint | null {
  const best = looked.find(({ checked }) => checked.state === 'good') ?? looked.find(({ checked }) => checked.state === 'doubted');
  return best?.checkpoint ?? null;
}

function describe(
  checkpoint: SealedCheckpoint,
  checked: Checked,
  marks: Pick<ListedCheckpoint, 'isLastGood' | 'isPinned' | 'isRolledBack' | 'where'>,
): ListedCheckpoint {
  const { name, path, manifest } = checkpoint;
  const { step, attempt, save, worldSize, sealedAt, format, files } = manifest;
  const { level, warning, code, reason } = { level: null, warning: null, code: null, reason: null, ...checked };
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
    level,
    code,
    reason,
    warning,
    ...marks,
  };
}
