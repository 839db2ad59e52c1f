import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderList, renderTable, wrap } from './table.ts';
import { displayWidth } from './width.ts';

describe('renderTable', () => {
  it('aligns columns by their visible width: colours take no room, wide characters two columns', () => {
    const rows = [
      ['\u001b[32mok\u001b[39m', '5', 'step-5'],
      ['重み', '1000', 'x'],
    ];
    expect(renderTable([{ title: 'VERDICT' }, { title: 'STEP', align: 'right' }, { title: 'PATH' }], rows)).toEqual([
      'VERDICT  STEP  PATH',
      '\u001b[32mok\u001b[39m          5  step-5',
      '重み     1000  x',
    ]);
  });

  it('leaves no spaces at the end of a line', () => {
    expect(renderTable([{ title: 'A' }, { title: 'B' }], [['1', '']])).toEqual(['A  B', '1']);
  });
});

describe('renderList', () => {
  it('hangs the texts under each other and wraps them', () => {
    expect(
      renderList(
        [
          ['-q', 'one two three four five'],
          ['--long', 'six'],
        ],
        32,
      ),
    ).toEqual(['  -q      one two three four', '          five', '  --long  six']);
  });
});

describe('wrap', () => {
  it('keeps every word, in order, and breaks every line that can be broken', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z重]{1,12}$/)), fc.integer({ min: 1, max: 40 }), (words, columns) => {
        const lines = wrap(words.join(' '), columns);
        expect(lines.join(' ')).toBe(words.join(' '));
        for (const line of lines) expect(displayWidth(line) <= columns || !line.includes(' ')).toBe(true);
      }),
    );
  });
});
