import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { type Admission, admitSave } from '../../volumes/admission.ts';
import { limitsOf } from '../../volumes/limits.ts';
import { evictionLineWish, toldSaveBytes } from '../../volumes/save-settings.ts';
import { describeStorage, type Storage } from '../../volumes/storage.ts';
import type { CheckOptions } from '../folder/check-sealed.ts';
import { deleteFenced } from '../trash/fenced-leftovers.ts';
import { bytesOf, prune, type Pruned, tidyUp } from './prune.ts';
import type { Retention } from './retention.ts';
import { scan } from '../folder/scan.ts';
import type { OpenStore } from '../folder/store.ts';

/** The size of the next save, and what Holdfast may delete to make room for it. */
export interface NextSave {
  /**
   * The bytes that the save will write. By default the larger of the newest checkpoint's size and
   * the size from the environment.
   */
  readonly bytes?: number;
  readonly files?: number;
  /** What prune may delete to make room; null: nothing. */
  readonly retention: Retention | null;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Describes the storage under the run's folder now. */
  readonly storageOf?: (path: string) => Storage;
  readonly signal?: AbortSignal;
}

/** The answer to an admitted save. */
export interface Admitted {
  readonly admission: Admission;
  /** What prune deleted to make room, null when nothing had to go. */
  readonly pruned: Pruned | null;
}

/**
 * Decides before a save starts whether it fits, down to the kubelet's eviction line and within the
 * pod's limit. If it does not fit, Holdfast first deletes the leftovers of failed saves, whatever
 * retention says, and also the staging of the previous attempt. Next it deletes what retention
 * allows. If that is not enough, it refuses the save with the numbers. The last good checkpoint
 * always stays.
 */
export async function admitNextSave(store: OpenStore, next: NextSave): Promise<Admitted> {
  const need = needOf(store, next);
  const first = admit(store, next, need, { bytes: 0, files: 0 });
  if (first.kind === 'fits') return { admission: first, pruned: null };
  const { retention, signal } = next;
  const options = signal === undefined ? {} : { signal };
  await deleteLeftovers(store, options);
  const second = admit(store, next, need, { bytes: 0, files: 0 });
  if (second.kind === 'fits') return { admission: second, pruned: null };
  if (retention === null) throw refusal(store, second);
  const how = { retention, ...options };
  const possible = releasedBy(await prune(store, { ...how, isDryRun: true }));
  const planned = admit(store, next, need, possible);
  if (planned.kind === 'refused') throw refusal(store, planned);
  const pruned = await prune(store, { ...how, isRoomNeeded: true });
  const admission = admit(store, next, need, { bytes: 0, files: 0 });
  if (admission.kind !== 'fits') throw refusal(store, admission);
  return { admission, pruned };
}

async function deleteLeftovers(store: OpenStore, options: CheckOptions): Promise<void> {
  await tidyUp(store, options);
  deleteFenced(store, null);
}

interface Need {
  readonly bytes: number;
  readonly files: number;
}

function needOf(store: OpenStore, { bytes, files, env = {} }: NextSave): Need {
  const [newest] = bytes === undefined || files === undefined ? scan(store).sealed : [];
  return {
    bytes: bytes ?? Math.max(newest === undefined ? 0 : bytesOf(newest), toldSaveBytes(env) ?? 0),
    // The manifest, the folder and the receipts are files too.
    files: files ?? (newest === undefined ? 0 : newest.manifest.files.length) + 4,
  };
}

function releasedBy({ removed, removedBytes }: Pruned): Need {
  return { bytes: removedBytes, files: removed.reduce((sum, { manifest }) => sum + manifest.files.length + 1, 0) };
}

function admit(store: OpenStore, next: NextSave, need: Need, reclaimable: Need): Admission {
  const storage = (next.storageOf ?? describeStorage)(store.path);
  const env = next.env ?? {};
  const { evictionLine, ephemeral } = limitsOf(storage, evictionLineWish(env), env);
  const { space } = storage;
  return admitSave({ bytesNeeded: need.bytes, filesNeeded: need.files, space, evictionLine, ephemeralLimit: ephemeral, reclaimable });
}

function refusal(store: OpenStore, admission: Admission): HoldfastError {
  const numbers =
    admission.kind === 'refused'
      ? admission.message
      : `${admission.demandBytes} bytes are needed, but only ${admission.roomBytes} are available`;
  return new HoldfastError('SAVE_DOES_NOT_FIT', {
    message: `no save was started in ${printable(store.path)}: ${numbers}`,
    hint: 'Earlier checkpoints are unchanged. Keep fewer (holdfast prune), or give the run a larger volume. holdfast probe PATH shows the room.',
  });
}
