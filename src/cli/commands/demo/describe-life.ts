import { lastKept, type Life } from '../../../demo/life.ts';
import type { Lane } from '../../../demo/play.ts';
import { type Scene, TRAINING } from '../../../demo/scenes.ts';

/** The outcome of a life in words, and whether it is good. */
export interface LifeWords {
  readonly text: string;
  readonly tone: 'good' | 'bad' | 'plain';
}

const EMPTY: LifeWords = { text: '', tone: 'plain' };

interface Told {
  readonly scene: Scene;
  readonly lane: Lane;
  readonly twin: string;
}

/** The text after the bar of a life that has ended; empty while it lives. */
export function describeLife(index: number, told: Told): LifeWords {
  const life = told.lane.lives[index];
  if (life === undefined || life.code === null) return EMPTY;
  return index === 0 ? interrupted(life, told) : startedAgain(life, told);
}

function interrupted(life: Life, { scene, lane }: Told): LifeWords {
  const exit = `exit ${life.code}`;
  if (life.result !== null) return { text: `${exit}: done before it was interrupted`, tone: 'plain' };
  const { step = 0, state = 'kept' } = life.saves.at(-1) ?? {};
  if (lane.keeper === 'bare') {
    if (life.code === 0) return { text: `${exit} at step ${life.at} of ${TRAINING.steps}: looks finished`, tone: 'bad' };
    if (state === 'writing') return { text: `${exit}, half of step ${step} is on disk`, tone: 'bad' };
    return { text: exit, tone: 'plain' };
  }
  if (scene.interruption === 'terminate' && !scene.flipsBit) return { text: `${exit}, no save: the time is too short`, tone: 'plain' };
  if (scene.flipsBit) return { text: `${exit}, step ${lastKept(life) ?? 0} saved in the grace`, tone: 'plain' };
  return { text: `${exit}, the half save does not count`, tone: 'plain' };
}

function startedAgain(life: Life, { lane, twin }: Told): LifeWords {
  const exit = `exit ${life.code}`;
  if (life.result === null) {
    const newest = lane.lives[0]?.saves.at(-1)?.step ?? 0;
    return { text: life.from === null ? `${exit}: step ${newest} cannot be loaded, ever` : exit, tone: 'bad' };
  }
  if (life.result !== twin) return { text: `${exit}, and WRONG: slope ${slope(life.result)}, not ${slope(twin)}`, tone: 'bad' };
  const before = life.refused === null ? '' : `${life.refused} refused; `;
  return { text: `${exit}, ${before}equal, bit for bit`, tone: 'good' };
}

function slope(result: string): string {
  const [, number = ''] = /^slope (\S+)/.exec(result) ?? [];
  return Number(number).toFixed(3);
}
