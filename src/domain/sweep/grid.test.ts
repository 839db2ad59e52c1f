import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Grid, parseGrid, type Trial, trialOf, trialsOf } from './grid.ts';

function gridOf(value: unknown): Grid {
  const read = parseGrid(value);
  if (!read.ok) throw new Error(read.reason);
  return read.value;
}

function trial(grid: Grid, index: number): Trial {
  const read = trialOf(grid, index);
  if (!read.ok) throw new Error(read.reason);
  return read.value;
}

describe('a grid', () => {
  it('of lists has all combinations, and its last parameter changes fastest', () => {
    const grid = gridOf({ lr: ['1e-3', '1e-4'], batch: ['16', '32', '64'] });
    expect(trialsOf(grid)).toBe(6);
    expect([0, 1, 3, 5].map((index) => trial(grid, index).name)).toEqual([
      '0-lr=1e-3,batch=16',
      '1-lr=1e-3,batch=32',
      '3-lr=1e-4,batch=16',
      '5-lr=1e-4,batch=64',
    ]);
  });

  it('of rows has exactly these trials', () => {
    const grid = gridOf([{ lr: 0.1, warm: true }, { lr: 0.2 }]);
    expect(trial(grid, 1)).toEqual({ index: 1, count: 2, name: '1-lr=0.2', parameters: [{ name: 'lr', value: '0.2' }] });
    expect(trialOf(grid, 2)).toMatchObject({ ok: false, reason: expect.stringContaining('0 to 1') as string });
  });

  it.each([
    ['a text', 'lr', 'neither'],
    ['no parameter', {}, 'no parameter'],
    ['an empty list', { lr: [] }, 'no trial'],
    ['an empty list of rows', [], 'no trial'],
    ['a nested value', { lr: [[1]] }, 'a value of lr'],
    ['a name with a space', { 'l r': [1] }, 'no name of a parameter'],
    ['two names of one variable', { lr: [1], LR: [2] }, 'HOLDFAST_PARAM_LR'],
    ['the name of a placeholder', { trial: [1] }, 'placeholder of Holdfast'],
    ['a row that is no mapping', [{ lr: 1 }, 3], 'row 1 is no mapping'],
    ['too many trials', { a: Array(2000).fill(1), b: Array(2000).fill(1) }, '4000000 trials'],
  ])('is refused with %s', (_, value, reason) => {
    expect(parseGrid(value)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) as string });
  });

  it('gives every trial a name of its own that is a name of a folder', () => {
    const value = fc.oneof(fc.string({ maxLength: 200 }), fc.double(), fc.boolean());
    const axes = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.array(value, { minLength: 1, maxLength: 4 }), {
      minKeys: 1,
      maxKeys: 4,
    });
    fc.assert(
      fc.property(axes, (mapping) => {
        const read = parseGrid(mapping);
        if (!read.ok) return;
        const names = Array.from({ length: trialsOf(read.value) }, (_, index) => trial(read.value, index).name);
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) expect(name).toMatch(/^\d+-[A-Za-z0-9._=,+-]{1,120}$/);
      }),
    );
  });
});
