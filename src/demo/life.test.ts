import { describe, expect, it } from 'vitest';
import { hear, lastKept, UNBORN, type Keeper, type Life } from './life.ts';

const lifeOf = (keeper: Keeper, ...lines: readonly string[]): Life => lines.reduce((life, line) => hear(life, line, keeper), UNBORN);

describe('the life of a trainer, by what it prints', () => {
  it('begins, advances, saves and ends', () => {
    const life = lifeOf('bare', 'from step 101', 'step 110 loss 0.5', 'saving step 200', 'saved step 200', 'slope 3.0 offset 1.0');
    expect(life).toMatchObject({ from: 101, at: 200, saves: [{ step: 200, state: 'kept' }], result: 'slope 3.0 offset 1.0' });
  });

  it('a save under Holdfast is kept when it is sealed, not when it is written', () => {
    const written = lifeOf('holdfast', 'from step 0', 'saving step 100', 'saved step 100');
    expect(lastKept(written)).toBeNull();
    expect(lastKept(hear(written, 'holdfast: sealed step 100 (9 KiB, written in 2ms): /run/step-100', 'holdfast'))).toBe(100);
  });

  it('the two streams may overtake each other', () => {
    const life = lifeOf('holdfast', 'saving step 100', 'holdfast: sealed step 100 (9 KiB): /run/step-100', 'saved step 100');
    expect(lastKept(life)).toBe(100);
  });

  it('a save that was started but not finished is not kept', () => {
    expect(lastKept(lifeOf('bare', 'saving step 100', 'saved step 100', 'saving step 200'))).toBe(100);
  });

  it('records which checkpoint was refused', () => {
    expect(lifeOf('holdfast', 'holdfast: step-240 was not taken: state.json differs [SEAL_MISMATCH]').refused).toBe('step-240');
  });

  it('unknown lines change nothing', () => {
    expect(lifeOf('bare', 'Traceback (most recent call last):', 'stepping', 'step', 'loading step-240.json')).toBe(UNBORN);
  });
});
