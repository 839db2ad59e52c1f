import type { Attempt } from '../../store/attempt/attempt.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import type { HoldfastError } from '../../core/errors.ts';
import type { RunLog } from '../base/run-log.ts';
import type { Measurements } from '../session/measurements.ts';
import type { Trainer } from '../process/trainer.ts';
import { snapshot } from './prepare-folder.ts';
import { Watcher } from './watcher.ts';

interface WatchingOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  readonly log: RunLog;
  readonly measured: Measurements;
  readonly onSafe: () => void;
  readonly onFenced: (error: HoldfastError) => void;
}

/**
 * Records the contents of the folder before the trainer can change it. Call the returned function
 * once the trainer runs to start watching.
 */
export function prepareWatching(options: WatchingOptions): (trainer: Trainer) => Watcher {
  const { store, attempt, ...told } = options;
  const before = snapshot(store);
  told.measured.noteWatched();
  return (trainer) => {
    const work = { dir: store.path, attempt: attempt.attempt, before, trainer: trainer.kinship };
    return new Watcher({ ...told, work, clock: store.clock });
  };
}
