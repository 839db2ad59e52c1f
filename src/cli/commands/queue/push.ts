import { counted } from '../../../core/counted.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { parsed, refused, type Parsed } from '../../../core/parsed.ts';
import { excerpt } from '../../../core/printable.ts';
import { someText } from '../../frame/option-values.ts';
import { CONNECTION_OPTIONS, queueName, queuePath, withClient } from './connect.ts';

/** The command `holdfast queue push`. */
export const push = defineCommand({
  description:
    'Adds items to a queue, and makes the queue if there is none. Items come from JSON lines, from CSV with a header line (each row becomes an object), from standard input (-), or from the names of files (--glob). The key is the identity of an item: one that is in the queue stays as it is, so the same push can be made again after any interruption. A key that is there with another value is refused and named, a broken line is named by its number, and all others are pushed.',
  operand: {
    name: 'QUEUE FILE',
    description: 'The name of the queue, then files that end in .jsonl, .ndjson or .csv, or - for JSON lines on standard input',
    count: 'many',
    complete: 'paths',
  },
  options: {
    ...CONNECTION_OPTIONS,
    key: {
      kind: 'value',
      value: 'FIELD',
      parse: someText('the field'),
      description: 'The field that holds the key. Without it, the content of the line is the key',
    },
    glob: {
      kind: 'value',
      value: 'PATTERN',
      parse: someText('the pattern'),
      description: 'An item for each file of this pattern: its value is {"path": …}, its key the path',
    },
    format: { kind: 'choice', choices: ['jsonl', 'csv'], description: 'The format of the files, whatever their names are' },
    priority: {
      kind: 'value',
      value: 'NUMBER',
      parse: parsePriority,
      description: 'Items of higher numbers are worked on first',
      default: '0',
    },
  },
  examples: [
    { line: 'queue push images items.jsonl --key=id', description: 'JSON lines; the field id is the identity' },
    { line: `queue push images --glob='photos/**/*.jpg'`, description: 'An item for each file' },
    { line: 'queue push images -', description: 'JSON lines from standard input' },
  ],

  async run({ values, operands: [name = '', ...files], output, env, clock, signal }): Promise<ExitCode> {
    const queue = queueName(name);
    if (files.length === 0 && values.glob === null)
      throw new HoldfastError('USAGE', { message: 'FILE is missing: what to push', hint: '- reads standard input.' });
    const { pushFiles } = await import('./push-files.ts');
    const { key, glob, format, priority } = values;
    const report = await withClient({ values, env, clock }, (client) =>
      pushFiles({ client, path: queuePath(queue, '/items'), files, wishes: { key, glob, format, priority }, output, signal }),
    );
    if (output.json) output.printJson({ schema: 'holdfast.queue-push/1', queue, ...report });
    else
      output.note(
        `${counted(report.added, 'item')} added to ${queue}, ${report.present} present already${report.refusedCount > 0 ? `, ${report.refusedCount} refused` : ''}`,
      );
    if (report.refusedCount === 0) return EXIT.ok;
    for (const { file, line, key: of, reason } of report.refused.slice(0, 20)) {
      output.note(`  ${excerpt(file, 200)}:${line}: ${of === null ? '' : `"${excerpt(of, 80)}": `}${reason}`);
    }
    throw new HoldfastError('QUEUE_ITEMS_REFUSED', {
      message: `${counted(report.refusedCount, 'item')} not pushed into ${queue}; the others were`,
      hint: 'Correct them and push the same files again: items that are present are not added twice.',
    });
  },
});

function parsePriority(text: string): Parsed<number> {
  const value = /^-?\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
  return Math.abs(value) <= 1_000_000
    ? parsed(value)
    : refused(`"${excerpt(text, 40)}" is not a priority: a whole number from -1000000 to 1000000`);
}
