import { admitNextSave } from '../checkpoint/store/admit-next-save.ts';
import type { Attempt } from '../checkpoint/store/attempt.ts';
import { commitSave, type Sealed } from '../checkpoint/store/commit.ts';
import type { Retention } from '../checkpoint/store/retention.ts';
import { beginSave, type Save, writeReceipt } from '../checkpoint/store/save.ts';
import type { OpenStore } from '../checkpoint/store/store.ts';
import { walkFiles } from '../checkpoint/store/walk-files.ts';
import type { Rank } from './sdk/server.ts';

/** How a save is opened and sealed: by this supervisor alone, or together with those of other nodes. */
export interface SaveWay {
  /** All ranks that are connected here have come to the step: the folder to write into. Throws when there is no room. */
  open(step: number, ranks: readonly Rank[], signal: AbortSignal): Promise<Save>;
  /** All ranks that are connected here have written. Throws when the save came to nothing. */
  seal(save: Save, ranks: readonly Rank[], facts: { readonly writeMs: number; readonly signal: AbortSignal }): Promise<Sealed>;
}

export interface SaveWayOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  /** What may be released to make room; null: nothing. */
  readonly retention: Retention | null;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** All ranks of the run are connected here. */
export function saveAlone({ store, attempt, retention, env }: SaveWayOptions): SaveWay {
  return {
    async open(step, ranks, signal) {
      await admitNextSave(store, { retention, env, signal });
      return beginSave(store, attempt, { step, worldSize: ranks.length });
    },
    async seal(save, _, { signal }) {
      await writeReceipts(store, save, signal);
      return commitSave(store, save);
    },
  };
}

/** All ranks have handed over, so that nobody writes any more: the first vouches for every file, the others for none. */
async function writeReceipts(store: OpenStore, save: Save, signal: AbortSignal): Promise<void> {
  if (save.worldSize === 1) return writeReceipt(store, save, { rank: 0, signal });
  const files = walkFiles(store.fs, save.data).files.map(({ path }) => path);
  for (let rank = 0; rank < save.worldSize; rank++) await writeReceipt(store, save, { rank, files: rank === 0 ? files : [], signal });
}
