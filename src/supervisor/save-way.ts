import { admitNextSave } from '../checkpoint/store/admit-next-save.ts';
import type { Attempt } from '../checkpoint/store/attempt.ts';
import type { Retention } from '../checkpoint/store/retention.ts';
import { beginSave, type Save } from '../checkpoint/store/save.ts';
import type { OpenStore } from '../checkpoint/store/store.ts';
import type { Rank } from './sdk/server.ts';
import type { SealedSave } from './sealing/messages.ts';
import type { AskOptions, Sealer } from './sealing/sealer.ts';

export interface SealFacts extends AskOptions {
  readonly writeMs: number;
}

/** How a save is opened and sealed: by this supervisor alone, or together with those of other nodes. */
export interface SaveWay {
  /** All ranks that are connected here have come to the step: the folder to write into. Throws when there is no room. */
  open(step: number, ranks: readonly Rank[], signal: AbortSignal): Promise<Save>;
  /** All ranks that are connected here have written. Throws when the save came to nothing. */
  seal(save: Save, ranks: readonly Rank[], facts: SealFacts): Promise<SealedSave>;
}

export interface SaveWayOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  /** What may be released to make room; null: nothing. */
  readonly retention: Retention | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sealer: Sealer;
}

/** All ranks of the run are connected here. */
export function saveAlone({ store, attempt, retention, env, sealer }: SaveWayOptions): SaveWay {
  return {
    async open(step, ranks, signal) {
      sealer.warm();
      await admitNextSave(store, { retention, env, signal });
      return beginSave(store, attempt, { step, worldSize: ranks.length });
    },
    seal: (save, _, facts) => sealer.seal({ kind: 'seal', save, image: null }, facts),
  };
}
