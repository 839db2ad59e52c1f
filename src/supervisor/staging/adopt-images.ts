import { admitNextSave } from '../../checkpoint/store/admit-next-save.ts';
import type { Attempt } from '../../checkpoint/store/attempt.ts';
import { isRolledBack } from '../../checkpoint/store/rollback.ts';
import { beginSave } from '../../checkpoint/store/save.ts';
import { scan } from '../../checkpoint/store/scan.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import { formatBytes } from '../../core/bytes.ts';
import { formatDuration } from '../../core/duration.ts';
import { toError } from '../../core/errors.ts';
import type { EventOf } from '../../ledger/events.ts';
import type { Book } from '../book.ts';
import type { RunOptions } from '../options.ts';
import type { SealedSave } from '../sealing/messages.ts';
import type { Sealer } from '../sealing/sealer.ts';
import { claimImage, dropImage, hasOwner, type Image, isWhole, readImages } from './image.ts';
import { dropStageFolder, type StageFolder } from './stage-folder.ts';

export interface AdoptOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  readonly options: RunOptions;
  readonly book: Book;
  readonly sealer: Sealer;
  readonly signal: AbortSignal;
}

/**
 * Looks for what an earlier life of the run has left in memory. A save that was handed over and is newer than everything sealed becomes a
 * checkpoint, as this attempt's own: older attempts are fenced by now and can commit nothing, and what they had begun goes on here. The rest is
 * let go, and told as lost. Whatever goes wrong is told; the run then resumes from what is sealed.
 */
export async function adoptImages(stage: StageFolder, adopt: AdoptOptions): Promise<void> {
  const { book, store, signal } = adopt;
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
    book.complain(thrown);
  }
}

/** Whether it may become a checkpoint; what may not is gone afterwards, unless somebody still writes it. */
async function isAdoptable(image: Image, adopt: AdoptOptions): Promise<boolean> {
  const { store } = adopt;
  if (!isWhole(image)) {
    if (!hasOwner(image, store.owner)) await letGo(image, 'whoever wrote it ended before it was handed over', adopt);
    return false;
  }
  if (image.ranks < image.worldSize) {
    const others = `${image.ranks} of ${image.worldSize} ranks wrote it here, and what the others wrote lies elsewhere`;
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
  // It was sealed before whoever sealed it could clear it away, or the run has gone on, or was taken back, without it: nothing is lost.
  await dropImage(image.folder);
  return false;
}

/** Of a save that this life did not see from its beginning. */
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

async function letGo({ save, step, folder }: Image, why: string, { book }: AdoptOptions): Promise<void> {
  await dropImage(folder);
  const problem = `step ${step} was in memory and is lost: ${why}`;
  book.warn(problem);
  book.record({ ...NO_FACTS, kind: 'save-ended', save, step, outcome: 'lost', problem });
}

async function adoptOne(found: Image, { store, attempt, options, book, sealer, signal }: AdoptOptions): Promise<void> {
  const image = claimImage(found, attempt.attempt);
  if (image === null) return;
  const { step, worldSize } = image;
  const startedMs = store.clock.monotonic();
  sealer.warm();
  await admitNextSave(store, { retention: options.retention, env: options.env, signal });
  const save = beginSave(store, attempt, { step, worldSize });
  book.record({ kind: 'save-started', save: save.save, step, reason: 'adopted', predicted: null });
  const end = (outcome: 'sealed' | 'failed', facts: Partial<EventOf<'save-ended'>>): void =>
    book.record({
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
  book.say(
    `sealed step ${step} (${formatBytes(sealed.bytes)}) in ${formatDuration(totalMs)}, which an earlier life had left in memory: ${sealed.path}`,
  );
  await dropImage(image.folder);
}
