import { counted } from '../../../core/counted.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import type { StatusAnswer } from './answers.ts';
import { CONNECTION_OPTIONS, queueName, queuePath, withClient } from './connect.ts';

/** The command `holdfast queue drop`. */
export const drop = defineCommand({
  description:
    'Deletes a queue with its items, results and history. It disappears for all clients at once; the space is freed in the background. A queue that has items needs --yes.',
  operand: { name: 'QUEUE', description: 'The name of the queue', count: 'one', complete: { lines: 'queue status --quiet' } },
  options: { ...CONNECTION_OPTIONS, yes: { kind: 'flag', short: 'y', description: 'Delete also items that are open, and results' } },
  examples: [{ line: 'queue drop images --yes', description: 'Delete the queue and everything in it' }],

  async run({ values, operands: [name = ''], output, env, clock, signal }): Promise<ExitCode> {
    const queue = queueName(name);
    await withClient({ values, env, clock }, async (client) => {
      const { total } = await client.json<StatusAnswer>('GET', queuePath(queue), { signal });
      if (total > 0 && !values.yes) {
        throw new HoldfastError('USAGE', {
          message: `${queue} has ${counted(total, 'item')}`,
          hint: 'Give --yes to delete them and their results.',
        });
      }
      await client.json('POST', queuePath(queue, '/drop'), { body: {}, signal });
    });
    if (output.json) output.printJson({ schema: 'holdfast.queue-drop/1', queue, dropped: true });
    else output.note(`${queue} is deleted`);
    return EXIT.ok;
  },
});
