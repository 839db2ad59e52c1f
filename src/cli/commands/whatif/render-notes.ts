import { printable } from '../../../core/printable.ts';
import type { Note } from '../../../whatif/world/note.ts';
import type { Output } from '../../output/output.ts';
import { wrap } from '../../output/table.ts';

const WORDS: Readonly<Record<Note['kind'], string>> = {
  assumed: 'assumed',
  missing: 'missing',
  'not-modelled': 'not modelled',
  'bad-input': 'bad input',
};

/** What a reader must know to judge the answer. */
export function renderNotes(notes: readonly Note[], { style, columns }: Pick<Output, 'style' | 'columns'>): readonly string[] {
  const width = Math.max(0, ...notes.map(({ kind }) => WORDS[kind].length));
  return notes.flatMap(({ kind, text }) =>
    wrap(printable(text), Math.max(30, columns - width - 4)).map((line, index) =>
      style.dim(`  ${(index === 0 ? WORDS[kind] : '').padEnd(width)}  ${line}`),
    ),
  );
}
