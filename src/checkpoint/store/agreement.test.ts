import { describe, expect, it } from 'vitest';
import { agree, type Holding } from './agreement.ts';

const held = (attempt: number, step: number, save = `save-${attempt}-${step}`): Holding => ({ attempt, step, save });

describe('ranks with storage of their own', () => {
  it('resume from the newest checkpoint that all hold, and are told who lacks a newer one', () => {
    expect(
      agree([
        [held(1, 3), held(1, 2)],
        [held(1, 2), held(1, 1)],
        [held(1, 3), held(1, 2)],
      ]),
    ).toEqual({
      agreed: held(1, 2),
      lacking: [{ holding: held(1, 3), ranks: [1] }],
    });
  });

  it('do not agree on one step of two saves', () => {
    expect(
      agree([
        [held(1, 3, 'a'), held(1, 2)],
        [held(1, 3, 'b'), held(1, 2)],
      ]).agreed,
    ).toEqual(held(1, 2));
  });

  it('prefer the newer attempt to the higher step', () => {
    const all = [held(1, 900), held(2, 5)];
    expect(agree([all, all]).agreed).toEqual(held(2, 5));
  });

  it('start fresh when there is nothing that all hold', () => {
    expect(agree([[held(1, 1)], []])).toMatchObject({ agreed: null });
    expect(agree([])).toEqual({ agreed: null, lacking: [] });
  });
});
