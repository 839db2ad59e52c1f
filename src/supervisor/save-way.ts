import { admitNextSave } from '../checkpoint/store/admit-next-save.ts';
import type { Attempt } from '../checkpoint/store/attempt.ts';
import type { Retention } from '../checkpoint/store/retention.ts';
import { beginSave, type Save } from '../checkpoint/store/save.ts';
import type { OpenStore } from '../checkpoint/store/store.ts';
import type { Rank } from './sdk/server.ts';
import type { SealedSave } from './sealing/messages.ts';
import type { AskOptions, Sealer } from './sealing/sealer.ts';
import type { Image } from './staging/image.ts';
import type { Stage } from './staging/stage.ts';

/** A save that the ranks can write. */
export interface OpenedSave extends Save {
  /** Where they write when that is memory; left out: into the save's own folder. */
  readonly image?: Image;
}

export interface SealFacts extends AskOptions {
  readonly writeMs: number;
}

/** Ranks that have come to a step and wait for its folder. */
export interface Expected {
  readonly isAwaited: () => boolean;
  readonly signal: AbortSignal;
}

/** How a save is opened and sealed: by this supervisor alone, or together with those of other nodes. */
export interface SaveWay {
  /** The first rank has come to this step; resolves when none waits any more, rejects when `signal` is aborted. */
  readonly expect?: (step: number, expected: Expected) => Promise<void>;
  /** All ranks that are connected here have come to the step: the folder to write into. Throws when there is no room. */
  open(step: number, ranks: readonly Rank[], signal: AbortSignal): Promise<OpenedSave>;
  /** All ranks that are connected here have written. Throws when the save came to nothing. */
  seal(save: OpenedSave, ranks: readonly Rank[], facts: SealFacts): Promise<SealedSave>;
}

export interface SaveWayOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  /** What may be released to make room; null: nothing. */
  readonly retention: Retention | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sealer: Sealer;
  /** Null: every save is written where it will stay. */
  readonly stage: Stage | null;
  /** Of the last save; null: none was ever made. */
  readonly lastBytes: () => number | null;
}

/** All ranks of the run are connected here. */
export function saveAlone(options: SaveWayOptions): SaveWay {
  const { store, attempt, retention, env, sealer, stage } = options;
  return {
    async open(step, ranks, signal) {
      sealer.warm();
      await admitNextSave(store, { retention, env, signal });
      const save = beginSave(store, attempt, { step, worldSize: ranks.length });
      const image = stage?.open({ save, pids: ranks.map(({ pid }) => pid), lastBytes: options.lastBytes() }) ?? null;
      return image === null ? save : { ...save, image };
    },
    seal: ({ image, ...save }, _, facts) => sealer.seal({ kind: 'seal', save, image: image?.data ?? null }, facts),
  };
}
