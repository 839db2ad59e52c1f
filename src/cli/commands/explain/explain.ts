import { HoldfastError } from '../../../core/errors.ts';
import { EXIT } from '../../../core/exit-codes.ts';
import { excerpt } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';
import { suggest } from '../../frame/suggest.ts';
import { type Entry, exitEntry, readEntries } from './entries.ts';
import { renderEntries, renderEntry } from './render-entry.ts';

/** The command `explain`. */
export const explain = defineCommand({
  description:
    'Explains a word that Holdfast prints: a verdict, a code of evidence or of an error, an exit code, or the cause of an interruption. It says what the word means, what causes it, and what to do. Without a word it lists all of them; with --quiet it prints only the words.',
  operand: {
    name: 'WORD',
    description: 'A word that holdfast printed, such as ZOMBIE, FILE_EMPTY, 143 or aws-spot',
    count: 'optional',
    complete: { lines: 'explain --quiet' },
  },
  options: {},
  examples: [
    { line: 'explain ZOMBIE', description: 'Why is a checkpoint a ZOMBIE, and what should you do?' },
    { line: 'explain FILE_SPARSE', description: 'What does this evidence mean?' },
    { line: 'explain 143', description: 'What should a script or a Kubernetes Job do after this exit code? Any number works' },
    { line: 'explain aws-spot', description: 'How much time does this cause of an interruption leave?' },
    { line: 'explain --json', description: 'Print everything as JSON' },
  ],
  async run({ operands: [word], output }) {
    const entries = await readEntries();
    if (word === undefined) {
      if (output.json) output.printJson({ codes: entries });
      else if (output.quiet) output.print(...entries.map(({ code }) => code));
      else {
        output.print(...renderEntries(entries, output));
        output.note('`holdfast explain WORD` explains one of them.');
      }
      return EXIT.ok;
    }
    const entry = (await exitEntry(word)) ?? find(word, entries);
    if (output.json) output.printJson(entry);
    else output.print(...renderEntry(entry, output));
    return EXIT.ok;
  },
});

/** Ignores capitals and dashes: people copy words from many places. */
function plain(word: string): string {
  return word.toUpperCase().replaceAll('-', '_');
}

function find(word: string, entries: readonly Entry[]): Entry {
  const byWord = new Map(entries.map((entry) => [plain(entry.code), entry]));
  const found = byWord.get(plain(word));
  if (found !== undefined) return found;
  const meant = byWord.get(suggest(plain(word), [...byWord.keys()]) ?? '');
  throw new HoldfastError('USAGE', {
    message: `nothing is called "${excerpt(word, 40)}".${meant === undefined ? '' : ` Did you mean ${meant.code}?`}`,
    hint: '`holdfast explain` lists everything that can be explained.',
  });
}
