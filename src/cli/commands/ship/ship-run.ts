import type { ObjectStore } from '../../../remote/backends/backend.ts';
import { openJournal } from '../../../remote/copy/journal.ts';
import { shareRollback } from '../../../remote/pointer/remote-rollback.ts';
import { claimPrefix } from '../../../remote/pointer/whose-prefix.ts';
import { type Shipped, shipCheckpoint } from '../../../remote/copy/ship.ts';
import { scan, type SealedCheckpoint } from '../../../store/folder/scan.ts';
import { readRun, type Store } from '../../../store/folder/store.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import { openRemote, rateLimit, readLocation, type RemoteWorld, takeOperands, waitingFor } from '../../remote/open-remote.ts';
import type { RemoteValues } from '../../remote/remote-options.ts';

interface ShipValues extends RemoteValues {
  readonly all: boolean;
  readonly checkpoint: string | null;
}

/** The output of `ship --json`. */
export interface ShipReport {
  readonly schema: 'holdfast.ship/1';
  readonly run: string;
  readonly path: string;
  readonly url: string;
  readonly checkpoints: readonly Shipped[];
  /** Sentences with more for the user to know. */
  readonly notes: readonly string[];
}

/** Runs `ship`: copies a checkpoint and returns the report. */
export async function shipRun(operands: readonly string[], values: ShipValues, world: RemoteWorld): Promise<ShipReport> {
  const [path, url] = takeOperands(operands, ['RUN', 'URL']);
  const location = readLocation(url);
  const { clock, onProgress } = world;
  const store = readRun(path, { clock });
  const { sealed, rollback } = scan(store);
  // After a rollback to nothing, only the rollback itself is left to ship.
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
    notes: isFresh ? [`The run was rolled back to start fresh; ${location.url} records that now.`] : checkpoints.flatMap(notesOn),
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
  if (copy !== name) notes.push(`Another checkpoint at the address has the name ${name}, so this copy is named ${copy}.`);
  if (!pointer.moved)
    notes.push(`The remote pointer stays at step ${pointer.step} of attempt ${pointer.attempt}, which is newer than ${name}.`);
  if (removedUploads > 0) notes.push(`Removed ${removedUploads} unfinished uploads of earlier processes.`);
  if (cleanUpProblem !== null)
    notes.push(
      `${name} is shipped, but some unfinished uploads of earlier processes could not be removed: ${cleanUpProblem}. The next ship tries again.`,
    );
  if (!isRecorded) notes.push(`${name} is shipped, but the run’s folder cannot be written: holdfast ls will not show it.`);
  return notes;
}
