import { counted } from '../../../core/counted.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import type { ItemStory } from '../../../queue/backend.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { defineCommand } from '../../frame/command.ts';
import { CONNECTION_OPTIONS, queueName, queuePath, withClient } from './connect.ts';

/** The command `holdfast queue show`. */
export const show = defineCommand({
  description:
    'Shows all that the queue knows about one item: its state, every end of a lease, its results by generation, and results that were refused because other bytes stand.',
  operand: {
    name: 'QUEUE KEY',
    description: 'The name of the queue, and the key of the item',
    count: 'two',
    complete: { lines: 'queue status --quiet' },
  },
  options: CONNECTION_OPTIONS,
  examples: [{ line: 'queue show images photo-7.jpg', description: 'What happened to this item?' }],

  async run({ values, operands: [name = '', key], output, env, clock, signal }): Promise<ExitCode> {
    const queue = queueName(name);
    if (key === undefined) throw new HoldfastError('USAGE', { message: 'KEY is missing: the key of the item' });
    const story = await withClient({ values, env, clock }, (client) =>
      client.json<ItemStory>('GET', queuePath(queue, `/items/${encodeURIComponent(key)}`), { signal }),
    );
    if (output.json) output.printJson({ schema: 'holdfast.queue-show/1', ...story });
    else {
      const { historyLines } = await import('./render-history.ts');
      const { state, generation, token, tries, deaths, progress } = story;
      output.print(
        `${output.style.bold(printable(story.key))}  ${state}, generation ${generation}, leased ${counted(token, 'time')}, ${counted(tries, 'error')}, ${counted(deaths, 'death')}`,
        `  value     ${excerpt(story.value, 300)}`,
        ...(progress === null ? [] : [`  progress  ${excerpt(progress, 300)}`]),
        ...historyLines(story.history),
        ...story.results.map(({ generation: of, token: by, committedAt, node, result }) => {
          return `  #${by} ${new Date(committedAt).toISOString()} done on ${printable(node)}, generation ${of}: ${excerpt(result, 300)}`;
        }),
        ...story.refused.map(({ generation: of, token: by, refusedAt, node, process, result }) => {
          const place = node === '' ? '' : ` on ${printable(node)}`;
          return `  #${by} ${new Date(refusedAt).toISOString()} refused, by ${printable(process)}${place}, generation ${of}: ${excerpt(result, 300)}`;
        }),
      );
    }
    return EXIT.ok;
  },
});
