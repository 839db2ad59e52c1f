import { counted } from '../../../core/counted.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { printable } from '../../../core/printable.ts';
import type { FailedItem } from '../../../queue/backend.ts';
import { defineCommand } from '../../frame/command.ts';
import { CONNECTION_OPTIONS, queueName, queuePath, withClient } from './connect.ts';

/** The command `holdfast queue failed`. */
export const failed = defineCommand({
  description:
    'Lists the items that failed as often as the queue allows, and those set aside because too many workers died with them, each with the newest ends of its leases.',
  operand: { name: 'QUEUE', description: 'The name of the queue', count: 'one', complete: { lines: 'queue status --quiet' } },
  options: CONNECTION_OPTIONS,
  examples: [{ line: 'queue failed images', description: 'Items that a person must look at' }],

  async run({ values, operands: [name = ''], output, env, clock, signal }): Promise<ExitCode> {
    const queue = queueName(name);
    const { historyLines } = await import('./render-history.ts');
    let count = 0;
    await withClient({ values, env, clock }, async (client) => {
      for await (const item of client.lines<FailedItem>(queuePath(queue, '/failed'), signal)) {
        count += 1;
        if (output.json) output.print(JSON.stringify(item));
        else if (output.quiet) output.print(printable(item.key));
        else {
          const why =
            item.state === 'failed'
              ? `failed after ${item.tries} ${item.tries === 1 ? 'try' : 'tries'}`
              : `set aside after ${counted(item.deaths, 'death')} of its workers`;
          output.print(`${output.style.bold(printable(item.key))}  ${why}`, ...historyLines(item.history));
        }
      }
    });
    if (count === 0) output.note(`nothing in ${queue} has failed`);
    else output.note(`${counted(count, 'item')}; \`holdfast queue retry ${queue}\` gives them another chance`);
    return count === 0 ? EXIT.ok : EXIT.no;
  },
});
