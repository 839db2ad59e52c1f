import { describe, expect, it } from 'vitest';
import { threatsTo } from './lifecycle-threats.ts';

describe('the lifecycle rules that would delete checkpoints', () => {
  it.each([
    ['of the whole bucket', '', true],
    ['of a folder above', 'runs/', true],
    ['of the beginning of a name', 'runs/gp', true],
    ['of a folder below', 'runs/gpt2/step-1', true],
    ['of another folder', 'logs/', false],
    ['of a run whose name begins alike', 'runs/gpt2-old/', false],
  ])('a rule %s', (_, prefix, isThreat) => {
    const rule = { id: null, prefix, afterDays: 30 };
    expect(threatsTo('runs/gpt2', [rule])).toEqual(isThreat ? [rule] : []);
  });
});
