import type { ObjectStore } from '../../checkpoint/ship/backend.ts';
import { openJournal } from '../../checkpoint/ship/journal.ts';
import { claimPrefix } from '../../checkpoint/ship/pointer.ts';
import { shareRollback } from '../../checkpoint/ship/remote-rollback.ts';
import { type Shipped, shipCheckpoint } from '../../checkpoint/ship/ship.ts';
import { scan, type SealedCheckpoint } from '../../checkpoint/store/scan.ts';
import { readRun, type Store } from '../../checkpoint/store/store.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { openRemote, rateLimit, readLocation, type RemoteWorld, takeOperands, waitingFor } from './open-remote.ts';
import type { RemoteValues } from '../commands/remote-options.ts';

interface ShipValues extends RemoteValues {
  readonly all: boolean;
  readonly checkpoint: string | null;
}

/** What `ship --json` prints. */
export interface ShipReport {
  readonly schema: 'holdfast.ship/1';
  readonly run: string;
  readonly path: string;
  readonly url: string;
  readonly checkpoints: readonly Shipped[];
  /** Sentences about what a person may want to know. */
  readonly notes: readonly string[];
}

export async function shipRun(operands: readonly string[], values: ShipValues, world: RemoteWorld): Promise<ShipReport> {
  const [path, url] = takeOperands(operands, ['RUN', 'URL']);
  const location = readLocation(url);
  const { clock, onProgress } = world;
  const store = readRun(path, { clock });
  const { sealed, rollback } = scan(store);
  // A run that was rolled back to nothing has nothing to ship but the decision.
  const isFresh = rollback !== null && sealed.length === 0 && values.checkpoint === null;
  const chosen = isFresh ? [] : choose(sealed, values, path);
  const journal = openJournal(path, location.url);
  const stop = new AbortController();
  const signal = AbortSignal.any([world.signal, stop.signal]);
  const remote = await openRemote(location, values, { ...world, signal, memory: journal });
  const limit = rateLimit(values, clock);
  const checkpoints: Shipped[] = [];
  try {
    if (isFresh) await shipDecision(remote, store);
    for (const checkpoint of chosen) {
      const shipped = await shipCheckpoint(checkpoint, {
        ...{ store, remote, stop, signal, journal, limit, clock },
        parallel: values.parallel,
        onProgress: (progress) => onProgress({ phase: 'shipping', unit: 'bytes', ...progress }),
        onWait: (pid) => onProgress(waitingFor(pid, checkpoint.name)),
      });
      checkpoints.push(shipped);
    }
  } finally {
    await remote[Symbol.asyncDispose]();
  }
  return {
    schema: 'holdfast.ship/1',
    run: chosen[0]?.manifest.run ?? store.run ?? '',
    path,
    url: location.url,
    checkpoints,
    notes: isFresh ? [`The run was rolled back to nothing: that is known at ${location.url} now.`] : checkpoints.flatMap(notesOn),
  };
}

async function shipDecision(remote: ObjectStore, store: Store): Promise<void> {
  if (store.run !== null) await claimPrefix(remote, store.run);
  await shareRollback(remote, store);
}

function choose(sealed: readonly SealedCheckpoint[], { all, checkpoint }: ShipValues, path: string): readonly SealedCheckpoint[] {
  if (all && checkpoint !== null) throw new HoldfastError('USAGE', { message: '--all and --checkpoint exclude each other' });
  const [newest] = sealed;
  const chosen = checkpoint === null ? newest : sealed.find(({ name }) => name === checkpoint);
  if (newest !== undefined && chosen !== undefined) return all ? sealed.toReversed() : [chosen];
  throw new HoldfastError('NOT_SEALED', {
    message: `${printable(path)} has no sealed checkpoint${checkpoint === null ? '' : ` "${printable(checkpoint)}"`}`,
    hint: 'holdfast ls RUN lists what there is; holdfast seal PATH seals one that another tool finished.',
  });
}

function notesOn({ name, copy, pointer, removedUploads, cleanUpProblem, isRecorded }: Shipped): readonly string[] {
  const notes: string[] = [];
  if (copy !== name) notes.push(`Another checkpoint is called ${name} there: the copy of this one is ${copy}.`);
  if (!pointer.moved)
    notes.push(`The remote pointer stays at step ${pointer.step} of attempt ${pointer.attempt}, which is newer than ${name}.`);
  if (removedUploads > 0) notes.push(`Removed ${removedUploads} uploads that earlier runs had begun and nobody would have finished.`);
  if (cleanUpProblem !== null)
    notes.push(
      `${name} is shipped, but uploads that earlier runs had begun could not all be removed: ${cleanUpProblem}. The next ship tries again.`,
    );
  if (!isRecorded) notes.push(`${name} is shipped, but the run’s folder cannot be written: holdfast ls will not show it.`);
  return notes;
}
