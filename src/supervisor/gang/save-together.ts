import type { JsonObject } from '../../checkpoint/json.ts';
import { admitNextSave } from '../../checkpoint/store/admit-next-save.ts';
import type { Attempt } from '../../checkpoint/store/attempt.ts';
import { at } from '../../checkpoint/store/layout.ts';
import type { Retention } from '../../checkpoint/store/retention.ts';
import { beginSave } from '../../checkpoint/store/save.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import { HoldfastError, toError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';
import type { Gang } from '../../domain/gang.ts';
import type { Expected, SaveWay } from '../save-way.ts';
import type { Sealer } from '../sealing/sealer.ts';
import { GangPlace } from './place.ts';
import { until } from './until.ts';

export interface SaveTogetherOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  readonly gang: Gang;
  readonly retention: Retention | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sealer: Sealer;
}

/** Ranks of several nodes come to a step within a collective's time; a node that is later than this and shows no life does not come. */
const OPEN_MS = 60_000;
/** The first node shows its life this often while its ranks wait for a save that it cannot open yet: it may still be deleting what is older. */
const SHOW_LIFE_MS = 15_000;
/** A slow node may take some times as long as this one. */
const SLOWER = 4;
const REFUSED = 'refused.json';
const COMING = 'coming.json';

/** The ranks of the run are spread over several nodes: the first node opens the save, the others join it, and one manifest names all of them. */
export function saveTogether({ store, attempt, gang, retention, env, sealer }: SaveTogetherOptions): SaveWay {
  const { nodes, nodeRank } = gang;
  const place = new GangPlace(store, gang.id);
  const joined = new Set<string>();

  const lead = async (step: number, signal: AbortSignal): Promise<string> => {
    try {
      await admitNextSave(store, { retention, env, signal });
      return `${prefixOf(step)}${store.makeId()}`;
    } catch (thrown) {
      // The others are not left waiting for a save that does not come.
      place.write(REFUSED, { attempt: attempt.attempt, step, reason: toError(thrown).message });
      throw thrown;
    }
  };

  const follow = async (step: number, signal: AbortSignal): Promise<string> => {
    const tooLate = (): Error => incomplete(`the first node did not come to step ${step} in time`);
    const sign = (): string | null => signOf(place.read(COMING), step);
    const found = await until(() => findOpened(step), { clock: store.clock, boundMs: OPEN_MS, sign, signal, tooLate });
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
      const save = await (nodeRank === 0 ? lead(step, signal) : follow(step, signal));
      return beginSave(store, attempt, { step, worldSize: ranks[0]?.world ?? 1, save });
    },
    seal(save, ranks, facts) {
      const own = ranks.map(({ rank }) => rank).sort((a, b) => a - b);
      const boundMs = OPEN_MS + SLOWER * facts.writeMs;
      return sealer.seal({ kind: 'seal-together', save, nodes, nodeRank, ranks: own, boundMs }, facts);
    },
  };
}

/** The step stands in the name of the save, so that the others know it when they see it. */
function prefixOf(step: number): string {
  return `step-${step}-`;
}

function incomplete(message: string): HoldfastError {
  return new HoldfastError('SAVE_INCOMPLETE', { message, hint: 'Every earlier checkpoint is as it was.' });
}
