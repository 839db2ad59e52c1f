import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nameProblem } from '../../seal/relative-path.ts';
import { ownName, parseNameRecord } from './copy-name.ts';

const RECORD = { schema: 'holdfast.remote-name/1', save: 's', attempt: 1, step: 200, name: 'step-200', kind: 'directory' };

describe('the name of a copy whose own is taken', () => {
  it('depends on the save alone, so that a later process can resume the copy', () => {
    expect(ownName('step-200', 'a')).toBe(ownName('step-200', 'a'));
    expect(ownName('step-200', 'a')).not.toBe(ownName('step-200', 'b'));
  });

  it('is a valid name, however long the first one is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }), fc.string(), (name, save) => {
        if (nameProblem(name) === null) expect(nameProblem(ownName(name, save))).toBeNull();
      }),
    );
    expect(ownName('ä'.repeat(127), 's')).toMatch(/^ä+-[0-9a-f]{8}$/);
  });
});

describe('the record of a name', () => {
  it('names the save that owns the name', () => {
    expect(parseNameRecord(JSON.stringify(RECORD))).toEqual({ save: 's', name: 'step-200', kind: 'directory' });
  });

  it.each([{ name: '../x' }, { name: '.holdfast' }, { name: 'a/b' }, { save: '' }, { kind: 'link' }, { attempt: -1 }, { schema: 'x/2' }])(
    'is not trusted with %j',
    (change) => {
      expect(parseNameRecord(JSON.stringify({ ...RECORD, ...change }))).toBeNull();
    },
  );

  it('never leads to a name outside the folder, whatever the store returns', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.record({ name: fc.string() }).map((some) => JSON.stringify({ ...RECORD, ...some })),
        ),
        (text) => {
          const record = parseNameRecord(text);
          if (record !== null) expect(nameProblem(record.name)).toBeNull();
        },
      ),
    );
  });
});
