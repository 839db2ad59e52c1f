import { admitNextSave } from '../../../store/retention/admit-next-save.ts';
import type { Attempt } from '../../../store/attempt/attempt.ts';
import { isRolledBack } from '../../../store/folder/rollback.ts';
import { beginSave } from '../../../store/commit/save.ts';
import { scan } from '../../../store/folder/scan.ts';
import type { OpenStore } from '../../../store/folder/store.ts';
import { formatBytes } from '../../../core/bytes.ts';
import { formatDuration } from '../../../core/duration.ts';
import { toError } from '../../../core/errors.ts';
import type { EventOf } from '../../../ledger/events.ts';
import type { RunLog } from '../../base/run-log.ts';
import type { RunOptions } from '../../settings/run-options.ts';
import type { SealedSave } from '../sealing/seal-messages.ts';
import type { Sealer } from '../sealing/sealer.ts';
import { claimImage, dropImage, hasOwner, type Image, isWhole, readImages } from './image.ts';
import { dropStageFolder, type StageFolder } from './stage-folder.ts';

/** What it takes to seal the saves that an earlier attempt left in memory. */
export interface AdoptOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  readonly options: RunOptions;
  readonly log: RunLog;
  readonly sealer: Sealer;
  readonly signal: AbortSignal;
}

/**
 * Handles the saves that an earlier attempt of the run left in memory. A save that was handed over
 * and is newer than every sealed one becomes a checkpoint of this attempt. Older attempts are
 * fenced by now and can commit nothing. All other saves are freed and reported as lost. Every
 * failure is reported, and the run then resumes from the newest sealed save.
 */
export async function adoptImages(stage: StageFolder, adopt: AdoptOptions): Promise<void> {
  const { log, store, signal } = adopt;
  try {
    const images: Image[] = [];
    for (const { folder, image } of readImages(stage.path)) {
      if (image === null || image.run !== store.run) await dropImage(folder);
      else if (await isAdoptable(image, adopt)) images.push(image);
    }
    const [newest, ...older] = images.sort((a, b) => b.attempt - a.attempt || b.step - a.step);
    for (const image of older) await letGo(image, 'a newer one was handed over', adopt);
    if (newest !== undefined) await adoptOne(newest, adopt);
    dropStageFolder(stage);
  } catch (thrown) {
    signal.throwIfAborted();
    log.complain(thrown);
  }
}

/**
 * Returns true when the image may become a checkpoint. Any other image is freed, unless a live
 * process still writes it.
 */
async function isAdoptable(image: Image, adopt: AdoptOptions): Promise<boolean> {
  const { store } = adopt;
  if (!isWhole(image)) {
    if (!hasOwner(image, store.owner)) await letGo(image, 'its writer ended before the hand-over', adopt);
    return false;
  }
  if (image.ranks < image.worldSize) {
    const others = `${image.ranks} of ${image.worldSize} ranks wrote it here, and the parts of the others are elsewhere`;
    await letGo(image, others, adopt);
    return false;
  }
  const { sealed, rollback } = scan(store);
  const [newest] = sealed;
  const isNewer =
    newest === undefined ||
    image.attempt > newest.manifest.attempt ||
    (image.attempt === newest.manifest.attempt && image.step > newest.manifest.step);
  if (isNewer && !isRolledBack({ manifest: image }, rollback)) return true;
  // Nothing is lost: the save was sealed before it could be freed, or the run has gone further
  // without it or was rolled back.
  await dropImage(image.folder);
  return false;
}

/** Records the save as one whose start this attempt did not see. */
const NO_FACTS = {
  bytes: null,
  totalMs: 0,
  stallMs: null,
  writeMs: null,
  copyMs: null,
  checksumMs: null,
  commitMs: null,
  problem: null,
} as const;

async function letGo({ save, step, folder }: Image, why: string, { log }: AdoptOptions): Promise<void> {
  await dropImage(folder);
  const problem = `step ${step} was in memory and is lost: ${why}`;
  log.warn(problem);
  log.record({ ...NO_FACTS, kind: 'save-ended', save, step, outcome: 'lost', problem });
}

async function adoptOne(found: Image, { store, attempt, options, log, sealer, signal }: AdoptOptions): Promise<void> {
  const image = claimImage(found, attempt.attempt);
  if (image === null) return;
  const { step, worldSize } = image;
  const startedMs = store.clock.monotonic();
  sealer.warm();
  await admitNextSave(store, { retention: options.retention, env: options.env, signal });
  const save = beginSave(store, attempt, { step, worldSize });
  log.record({ kind: 'save-started', save: save.save, step, reason: 'adopted', predicted: null });
  const end = (outcome: 'sealed' | 'failed', facts: Partial<EventOf<'save-ended'>>): void =>
    log.record({
      ...NO_FACTS,
      kind: 'save-ended',
      save: save.save,
      step,
      outcome,
      totalMs: store.clock.monotonic() - startedMs,
      ...facts,
    });
  let sealed: SealedSave;
  try {
    sealed = await sealer.seal({ kind: 'seal', save, image: image.data }, { signal });
  } catch (thrown) {
    end('failed', { problem: toError(thrown).message });
    throw thrown;
  }
  end('sealed', { bytes: sealed.bytes, ...sealed.phases });
  const totalMs = store.clock.monotonic() - startedMs;
  log.say(
    `sealed step ${step} (${formatBytes(sealed.bytes)}) in ${formatDuration(totalMs)}, which an earlier run of the supervisor left in memory: ${sealed.path}`,
  );
  await dropImage(image.folder);
}
