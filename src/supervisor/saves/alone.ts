import { admitNextSave } from '../../store/retention/admit-next-save.ts';
import type { Attempt } from '../../store/attempt/attempt.ts';
import { abandonSave, beginSave, type Save } from '../../store/commit/save.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import type { Retention } from '../../store/retention/retention.ts';
import type { OpenSave, SaveStrategy } from './open-save.ts';
import { namesOf } from './sealing/one-writer.ts';
import type { Sealer } from './sealing/sealer.ts';
import { dropImage, hasHandedOver, type Image, markOf } from './staging/image.ts';
import type { Stage } from './staging/stage.ts';

/** The parts that opening a save on one node needs. */
export interface SaveAloneOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  /** The checkpoints that may be deleted to make room; null: none. */
  readonly retention: Retention | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sealer: Sealer;
  /** Null: every save is written straight to its final place. */
  readonly stage: Stage | null;
  /** The size of the last save; null: no save was ever made. */
  readonly lastBytes: () => number | null;
}

/** Opens the saves of a run whose ranks are all connected to this supervisor. */
export function saveAlone(options: SaveAloneOptions): SaveStrategy {
  const { store, attempt, retention, env, sealer, stage } = options;
  return {
    async open(step, ranks, signal) {
      sealer.warm();
      await admitNextSave(store, { retention, env, signal });
      const save = beginSave(store, attempt, { step, worldSize: ranks.length });
      const image = stage?.open({ save, pids: ranks.map(({ pid }) => pid), lastBytes: options.lastBytes() }) ?? null;
      return ownSave({ store, sealer }, save, image);
    },
  };
}

/** A save in the store's staging. With an image, its bytes go to memory first. */
export function ownSave({ store, sealer }: Pick<SaveAloneOptions, 'store' | 'sealer'>, save: Save, image: Image | null): OpenSave {
  const free = async (): Promise<void> => {
    if (image !== null) await dropImage(image.folder);
  };
  return {
    save: save.save,
    step: save.step,
    worldSize: save.worldSize,
    writesTo: image?.data ?? save.data,
    placeOf: (rank) => ({
      path: image?.data ?? save.data,
      mark: image === null ? null : markOf(image, rank),
      names: save.worldSize === 1 ? null : namesOf(image?.folder ?? save.folder, rank),
    }),
    hasHandedOver: (rank) => image !== null && hasHandedOver(image, rank),
    seal: (_, facts) => sealer.seal({ kind: 'seal', save, image: image?.data ?? null }, facts),
    free,
    discard() {
      abandonSave(store, save);
      return free();
    },
  };
}
