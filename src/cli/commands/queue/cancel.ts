import { counted } from '../../../core/counted.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText } from '../../frame/option-values.ts';
import { CONNECTION_OPTIONS, queueName, queuePath, withClient } from './connect.ts';

/** The command `holdfast queue cancel`. */
export const cancel = defineCommand({
  description:
    'Takes items without a result out of the queue. A worker that holds one learns this at its next renewal or commit, and its result is refused. Committed results stay. `holdfast queue retry --cancelled` brings cancelled items back.',
  operand: { name: 'QUEUE', description: 'The name of the queue', count: 'one', complete: { lines: 'queue status --quiet' } },
  options: {
    ...CONNECTION_OPTIONS,
    key: { kind: 'value', value: 'KEY', parse: someText('the key'), description: 'Only the item of this key' },
  },
  examples: [
    { line: 'queue cancel images', description: 'All that are not done' },
    { line: 'queue cancel images --key=photo-7.jpg', description: 'One of them' },
  ],

  async run({ values, operands: [name = ''], output, env, clock, signal }): Promise<ExitCode> {
    const queue = queueName(name);
    const { changed } = await withClient({ values, env, clock }, (client) =>
      client.json<{ changed: number }>('POST', queuePath(queue, '/cancel'), { body: { key: values.key }, signal }),
    );
    if (output.json) output.printJson({ schema: 'holdfast.queue-cancel/1', queue, cancelled: changed });
    else output.note(`${counted(changed, 'item')} cancelled`);
    return changed === 0 ? EXIT.nothing : EXIT.ok;
  },
});
