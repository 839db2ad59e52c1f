import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { type Admission, admitSave } from '../storage/admission.ts';
import { limitsOf } from '../storage/limits.ts';
import { evictionLineWish, toldSaveBytes } from '../storage/save-settings.ts';
import { describeStorage, type Storage } from '../storage/storage.ts';
import type { CheckOptions } from './check-sealed.ts';
import { deleteFenced } from './fenced-leftovers.ts';
import { bytesOf, prune, type Pruned, tidyUp } from './prune.ts';
import type { Retention } from './retention.ts';
import { scan } from './scan.ts';
import type { OpenStore } from './store.ts';

export interface NextSave {
  /** What it will write; that of the newest sealed checkpoint, or what the environment tells if that is more, when it is left out. */
  readonly bytes?: number;
  readonly files?: number;
  /** What may be released to make room; null: nothing. */
  readonly retention: Retention | null;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Tells what lies under the run's folder now. */
  readonly storageOf?: (path: string) => Storage;
  readonly signal?: AbortSignal;
}

export interface Admitted {
  readonly admission: Admission;
  /** What was released to make room, null when nothing had to be. */
  readonly pruned: Pruned | null;
}

/**
 * Asked before a save starts: does it fit, down to the kubelet's eviction line and within the pod's limit? If not, what saves that came to nothing
 * have left goes first, whatever retention says, also what the attempt before this one had staged. Then what retention allows is released, and if
 * that does not suffice the save is refused with the numbers. The last good checkpoint is never released.
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
    // Its manifest, its folder and its receipts are files too.
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
    admission.kind === 'refused' ? admission.message : `${admission.demandBytes} bytes are needed, ${admission.roomBytes} are there`;
  return new HoldfastError('SAVE_DOES_NOT_FIT', {
    message: `no save was started in ${printable(store.path)}: ${numbers}`,
    hint: 'Every earlier checkpoint is as it was. Keep fewer (holdfast prune), or give the run a larger volume. holdfast probe PATH shows the room.',
  });
}
