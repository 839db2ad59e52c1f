import type { JsonObject } from '../../core/json.ts';
import { admitNextSave } from '../../store/retention/admit-next-save.ts';
import type { Attempt } from '../../store/attempt/attempt.ts';
import { at } from '../../seal/names.ts';
import type { Retention } from '../../store/retention/retention.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { HoldfastError, toError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';
import type { Gang } from '../../domain/restart/gang.ts';
import { abandonSave, beginSave } from '../../store/commit/save.ts';
import type { Expected, SaveStrategy } from './open-save.ts';
import { namesOf } from './sealing/one-writer.ts';
import type { Sealer } from './sealing/sealer.ts';
import { hasEndedNode } from '../nodes/ended-node.ts';
import { GangPlace } from '../nodes/gang-folder.ts';
import { until } from '../nodes/until.ts';

/** What it takes to open saves on several nodes. */
export interface SaveTogetherOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  readonly gang: Gang;
  readonly retention: Retention | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sealer: Sealer;
}

/**
 * The longest wait for another node. Ranks of several nodes reach a step within the time of a
 * collective; a node that is later and shows no sign does not come.
 */
const OPEN_MS = 60_000;
/**
 * How often the first node reports that its ranks wait for a save that it cannot open yet. It may
 * still be deleting older checkpoints.
 */
const SHOW_LIFE_MS = 15_000;
/** A slow node may take this many times as long as this one. */
const SLOWER = 4;
const REFUSED = 'refused.json';
const COMING = 'coming.json';

/**
 * Opens the saves of a run whose ranks are spread over several nodes. The first node opens the
 * save, the others join it, and one manifest names all of them.
 */
export function saveTogether({ store, attempt, gang, retention, env, sealer }: SaveTogetherOptions): SaveStrategy {
  const { nodes, nodeRank } = gang;
  const place = new GangPlace(store, gang.id);
  const joined = new Set<string>();

  const lead = async (step: number, signal: AbortSignal): Promise<string> => {
    try {
      await admitNextSave(store, { retention, env, signal });
      return `${prefixOf(step)}${store.makeId()}`;
    } catch (thrown) {
      // The other nodes must not wait for a save that does not come.
      place.write(REFUSED, { attempt: attempt.attempt, step, reason: toError(thrown).message });
      throw thrown;
    }
  };

  const follow = async (step: number, signal: AbortSignal): Promise<string> => {
    const tooLate = (): Error => incomplete(`the first node did not reach step ${step} in time`);
    const sign = (): string | null => signOf(place.read(COMING), step);
    const isInVain = (): boolean => hasEndedNode(store.path, attempt.attempt);
    const found = await until(() => findOpened(step), { clock: store.clock, boundMs: OPEN_MS, sign, isInVain, signal, tooLate });
    joined.add(found);
    return found;
  };

  const signOf = (shown: JsonObject | null, step: number): string | null => {
    const isOfThis = shown?.['attempt'] === attempt.attempt && shown['step'] === step;
    return isOfThis && typeof shown['sign'] === 'number' ? String(shown['sign']) : null;
  };

  const showLife = async (step: number, { isAwaited, signal }: Expected): Promise<void> => {
    for (let sign = 1; ; sign++) {
      await store.clock.sleep(SHOW_LIFE_MS, { signal });
      if (!isAwaited()) return;
      place.write(COMING, { attempt: attempt.attempt, step, sign });
    }
  };

  const findOpened = (step: number): string | null => {
    const refusal = place.read(REFUSED);
    const { reason } = refusal ?? {};
    if (refusal?.['attempt'] === attempt.attempt && refusal['step'] === step)
      throw incomplete(`the first node refused it: ${typeof reason === 'string' ? excerpt(reason) : 'without a reason'}`);
    const staged = store.fs.list(at.staging(store.path, attempt.attempt));
    return staged.find((name) => name.startsWith(prefixOf(step)) && !joined.has(name)) ?? null;
  };

  return {
    ...(nodeRank === 0 ? { expect: showLife } : {}),
    async open(step, ranks, signal) {
      sealer.warm();
      const id = await (nodeRank === 0 ? lead(step, signal) : follow(step, signal));
      const save = beginSave(store, attempt, { step, worldSize: ranks[0]?.world ?? 1, save: id });
      return {
        save: save.save,
        step,
        worldSize: save.worldSize,
        writesTo: save.data,
        placeOf: (rank) => ({ path: save.data, mark: null, names: save.worldSize === 1 ? null : namesOf(save.folder, rank) }),
        hasHandedOver: () => false,
        seal(here, facts) {
          const own = here.map(({ rank }) => rank).sort((a, b) => a - b);
          const boundMs = OPEN_MS + SLOWER * facts.writeMs;
          return sealer.seal({ kind: 'seal-together', save, nodes, nodeRank, ranks: own, boundMs }, facts);
        },
        free: () => Promise.resolve(),
        discard() {
          abandonSave(store, save);
          return Promise.resolve();
        },
      };
    },
  };
}

/** The step is part of the save's name, so that the other nodes recognise it. */
function prefixOf(step: number): string {
  return `step-${step}-`;
}

function incomplete(message: string): HoldfastError {
  return new HoldfastError('SAVE_INCOMPLETE', { message, hint: 'Earlier checkpoints are unchanged.' });
}
