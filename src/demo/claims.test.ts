import { describe, expect, it } from 'vitest';
import { falseEnds, judgeScene, outcomeOf, stepsLost } from './claims.ts';
import { type Life, UNBORN } from './life.ts';
import type { Lane } from './play.ts';
import { type Scene, SCENES } from './scenes.ts';

const TWIN = 'slope 3.0 offset 1.0';
const sceneOf = (id: Scene['id']): Scene => SCENES.find((scene) => scene.id === id) ?? raise();
const raise = (): never => {
  throw new Error('no such scene');
};
const kept = (...steps: readonly number[]): Life['saves'] => steps.map((step) => ({ step, state: 'kept' }));
const laneOf = (...lives: readonly Partial<Life>[]): Lane => ({
  keeper: 'holdfast',
  lives: lives.map((life) => ({ ...UNBORN, ...life })),
  decision: null,
  complaint: null,
});
const GOOD = laneOf({ from: 0, at: 240, saves: kept(100, 200), code: 143 }, { from: 201, at: 499, code: 0, result: TWIN });
const brokenClaims = (lane: Lane, id: Scene['id'] = 'short-grace'): number =>
  judgeScene(sceneOf(id), lane, TWIN).filter(({ held }) => !held).length;

describe('the claims about a scene', () => {
  it('hold when the run resumed after the last good step and ended like its twin', () => {
    expect(brokenClaims(GOOD)).toBe(0);
    expect([stepsLost(GOOD), outcomeOf(GOOD, TWIN), falseEnds(GOOD, TWIN)]).toEqual([40, 'equal', 0]);
  });

  it.each([
    ['an unfinished run that ended with 0', [{ code: 0 }, {}]],
    ['a run that began anew', [{}, { from: 0 }]],
    ['a run that went on after a step that was never kept', [{}, { from: 241 }]],
    ['a run that was not finished', [{}, { code: 1 }]],
    ['a run that learned something else', [{}, { result: 'slope 3.1 offset 1.0' }]],
  ] as const)('do not hold for %s', (_, [first, second]) => {
    expect(brokenClaims(laneOf({ ...GOOD.lives[0], ...first }, { ...GOOD.lives[1], ...second }))).toBe(1);
  });

  it('a flipped bit must be found, and the one before it taken', () => {
    const second = { from: 201, code: 0, result: TWIN };
    const first = { from: 0, at: 240, saves: kept(100, 200, 240), code: 143 };
    expect(brokenClaims(laneOf(first, { ...second, refused: 'step-240' }), 'flipped-bit')).toBe(0);
    expect(brokenClaims(laneOf(first, { ...second, from: 241 }), 'flipped-bit')).toBe(2);
  });

  it('do not hold when no trainer was started again', () => {
    expect(brokenClaims(laneOf({ code: 143 }))).toBe(1);
  });
});

describe('the outcome of a lane', () => {
  it('is stuck without a result, and wrong with another result', () => {
    expect(outcomeOf(laneOf({ code: 137 }, { code: 1 }), TWIN)).toBe('stuck');
    expect(outcomeOf(laneOf({ code: 0 }, { code: 0, result: 'slope 9' }), TWIN)).toBe('wrong');
    expect(falseEnds(laneOf({ code: 0 }, { code: 0, result: 'slope 9' }), TWIN)).toBe(2);
    expect(stepsLost(laneOf({ code: 137 }, { code: 1 }))).toBeNull();
  });
});
