import type { Attempt } from '../../checkpoint/store/attempt.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import type { HoldfastError } from '../../core/errors.ts';
import type { Book } from '../book.ts';
import type { Measurements } from '../measurements.ts';
import type { Trainer } from '../trainer.ts';
import { snapshot } from './leftovers.ts';
import { Watcher } from './watcher.ts';

interface WatchingOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  readonly book: Book;
  readonly measured: Measurements;
  readonly onSafe: () => void;
  readonly onFenced: (error: HoldfastError) => void;
}

/** Looks at what lies in the folder, before the trainer can change it; what comes back begins to watch once the trainer runs. */
export function prepareWatching(options: WatchingOptions): (trainer: Trainer) => Watcher {
  const { store, attempt, ...told } = options;
  const before = snapshot(store);
  told.measured.noteWatched();
  return (trainer) => {
    const work = { dir: store.path, attempt: attempt.attempt, before, trainer: trainer.kinship };
    return new Watcher({ ...told, work, clock: store.clock });
  };
}
