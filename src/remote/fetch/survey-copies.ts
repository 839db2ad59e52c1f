import { HoldfastError } from '../../core/errors.ts';
import type { Manifest } from '../../seal/manifest.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { fileKey } from '../backends/keys.ts';
import { compareStored, planObject } from '../backends/part-plan.ts';
import { placeOf } from '../pointer/list-copies.ts';
import { isLeftOut, isNewer, readPointer } from '../pointer/pointer.ts';
import { isBadCopy, readCopy, type RemoteCheckpoint } from '../pointer/remote-checkpoint.ts';
import { remoteRollback } from '../pointer/remote-rollback.ts';
import { findOwner } from '../pointer/whose-prefix.ts';

/** A copy at the remote place. */
export interface SurveyedCopy extends Pick<Manifest, 'run' | 'step' | 'attempt' | 'save' | 'sealedAt' | 'format'> {
  /** The checkpoint's name in the folder of its run. */
  readonly name: string;
  /** The name of the copy below the address. */
  readonly copy: string;
  readonly files: number;
  readonly bytes: number;
  /** `whole`: every object is there in its sealed size, and with `deep` has its sealed checksum. */
  readonly state: 'whole' | 'incomplete';
  /** The problem with the copy; null when there is none. */
  readonly reason: string | null;
  readonly isPointed: boolean;
  readonly isRolledBack: boolean;
  /** Whether the next `fetch` takes this copy. */
  readonly isNewest: boolean;
}

/** All that is known about the copies below an address. */
export interface Survey {
  /** The run of the copies; null when there is none, or nothing proves it. */
  readonly run: string | null;
  /** The newest first. */
  readonly copies: readonly SurveyedCopy[];
  /** Copies whose manifest cannot be used, and why. */
  readonly broken: readonly { readonly name: string; readonly code: string; readonly reason: string }[];
  /** Why the owner of the copies is unknown; null when it is known. */
  readonly problem: string | null;
}

/** How closely a survey looks, and its progress callback. */
export interface SurveyOptions {
  /** Ask the store for the checksum of every object. */
  readonly isDeep: boolean;
  readonly onCopy: (name: string, done: number, total: number) => void;
}

/**
 * Looks at every copy below an address without changing anything. It reads manifests, but no data.
 */
export async function surveyCopies(remote: ObjectStore, { isDeep, onCopy }: SurveyOptions): Promise<Survey> {
  const { run, problem } = await ownerOf(remote);
  const [pointer, rollback] = [(await readPointer(remote))?.pointer ?? null, await remoteRollback(remote)];
  const sizes = new Map<string, number>();
  for await (const { key, size } of remote.list('')) sizes.set(key, size);
  const places = [...sizes.keys()].flatMap((key) => placeOf(key) ?? []);
  const copies: SurveyedCopy[] = [];
  const broken: { name: string; code: string; reason: string }[] = [];
  for (const [index, place] of places.entries()) {
    onCopy(place.name, index, places.length);
    try {
      const found = await readCopy(remote, place);
      if (found === null) continue;
      const reason = problemIn(found, sizes) ?? (isDeep ? await problemAt(remote, found) : null);
      const isRolledBack = isLeftOut(found.manifest, rollback);
      copies.push({
        ...factsOf(found),
        state: reason === null ? 'whole' : 'incomplete',
        reason,
        isRolledBack,
        isPointed: found.manifest.save === pointer?.save,
        isNewest: false,
      });
    } catch (thrown) {
      if (!isBadCopy(thrown)) throw thrown;
      broken.push({ name: place.name, code: thrown.code, reason: thrown.message });
    }
  }
  copies.sort((a, b) => (isNewer(a, b) ? -1 : isNewer(b, a) ? 1 : 0));
  const newest = copies.find((one) => one.state === 'whole' && !one.isRolledBack && one.run === run);
  return { run, problem, broken, copies: copies.map((one) => ({ ...one, isNewest: one === newest })) };
}

async function ownerOf(remote: ObjectStore): Promise<Pick<Survey, 'run' | 'problem'>> {
  try {
    return { run: await findOwner(remote), problem: null };
  } catch (thrown) {
    if (!(thrown instanceof HoldfastError) || (thrown.code !== 'REMOTE_CONFLICT' && thrown.code !== 'REMOTE_INVALID')) throw thrown;
    return { run: null, problem: thrown.message };
  }
}

function factsOf({ name, copy, manifest }: RemoteCheckpoint) {
  const { run, step, attempt, save, sealedAt, format, files } = manifest;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return { name, copy: copy.name, run, step, attempt, save, sealedAt, format, files: files.length, bytes };
}

function problemIn({ copy, manifest }: RemoteCheckpoint, sizes: ReadonlyMap<string, number>): string | null {
  for (const { path, size } of manifest.files) {
    const stored = sizes.get(fileKey(copy.name, copy.kind, path));
    if (stored === undefined) return `${path} is missing`;
    if (stored !== size) return `${path} has ${stored} bytes, ${size} were sealed`;
  }
  return null;
}

async function problemAt(remote: ObjectStore, { copy, manifest }: RemoteCheckpoint): Promise<string | null> {
  for (const file of manifest.files) {
    const stored = await remote.head(fileKey(copy.name, copy.kind, file.path));
    if (stored === null || compareStored(stored, planObject(file)) === 'different') return `${file.path} differs from the sealed file`;
  }
  return null;
}
