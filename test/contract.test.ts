import { beforeAll, describe, expect, it } from 'vitest';
import { collectContract, type Contract } from './contract/collect.ts';
import { differenceOf, shapeDifferenceOf } from './contract/compare.ts';
import { changesSince, readGolden } from './contract/golden.ts';
import { readPython, whyNoPython } from './contract/python.ts';
import { shapeOf } from './contract/shape.ts';

describe('what programs depend on (test/contract/golden.json)', () => {
  let present: Contract;
  beforeAll(async () => {
    present = await collectContract();
  });

  it('keeps every recorded command, option, code, field, type, file name and variable', () => {
    expect(changesSince(readGolden(), present).lost).toEqual([]);
  });

  it('is recorded in full: `npm run contract:record` adds new entries', () => {
    expect(changesSince(readGolden(), present).added).toEqual([]);
  });
});

const reason = await whyNoPython();
const title = 'what trainers in Python depend on, and what their package sends';

describe.skipIf(reason !== null)(reason === null ? title : `${title} (skipped: ${reason})`, () => {
  it('keeps every recorded function, argument and message, and all are recorded', async () => {
    expect(differenceOf(readGolden().python, await readPython())).toEqual({ lost: [], added: [] });
  });
});

describe('the comparison with the golden file', () => {
  it('finds a renamed field, a changed type, and a removed word', () => {
    const before = shapeOf([
      { step: 1, files: [{ size: 1 }], state: 'good' },
      { step: null, files: [], state: 'bad' },
    ]);
    const now = shapeOf([{ steps: 1, files: [{ size: '1' }], state: 'good' }]);
    expect(differenceOf(before, now).lost).toEqual(['files[].size has number', 'state has "bad"', 'step has null', 'step has number']);
    expect(differenceOf(before, now).added).toEqual(['files[].size has string', 'steps has number']);
  });

  it('recognises a field that only some objects have, and treats the keys of a map as data', () => {
    expect(shapeOf([{ list: [{ a: 1 }, { b: null }], more: { ANY_CODE: 1 } }])).toEqual({
      '': ['object'],
      list: ['list'],
      'list[]': ['object'],
      'list[].a': ['absent', 'number'],
      'list[].b': ['absent', 'null'],
      more: ['object'],
      'more{}': ['number'],
    });
  });

  it('ignores null and an empty list in a document that depends on the machine, but finds a renamed field', () => {
    const known = shapeOf([{ disk: { free: 1 }, warnings: ['slow'] }]);
    const unknown = shapeOf([{ disk: null, warnings: [] }]);
    expect(shapeDifferenceOf(known, unknown)).toEqual({ lost: [], added: [] });
    expect(shapeDifferenceOf(unknown, known)).toEqual({ lost: [], added: [] });
    const renamed = shapeOf([{ disk: { free_: 1 }, warnings: [] }]);
    expect(shapeDifferenceOf(known, renamed)).toEqual({ lost: ['disk.free has number'], added: ['disk.free_ has number'] });
  });

  it('finds a code with another exit code, and a removed choice', () => {
    const before = { codes: { FULL: '73' }, choices: ['auto', 'json'] };
    const now = { codes: { FULL: '74' }, choices: ['json', 'none'] };
    expect(differenceOf(before, now)).toEqual({
      lost: ['codes › FULL = 73', 'choices has auto'],
      added: ['codes › FULL = 74', 'choices has none'],
    });
  });
});
