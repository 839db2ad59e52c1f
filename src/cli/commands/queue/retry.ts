import { counted } from '../../../core/counted.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText } from '../../frame/option-values.ts';
import { CONNECTION_OPTIONS, queueName, queuePath, withClient } from './connect.ts';

/** The command `holdfast queue retry`. */
export const retry = defineCommand({
  description:
    'Gives items that failed or were set aside another chance, with all their tries. With --new-generation, finished items are computed again as well, for example with a new model. The old results stay; read them with `holdfast queue results --generation`.',
  operand: { name: 'QUEUE', description: 'The name of the queue', count: 'one', complete: { lines: 'queue status --quiet' } },
  options: {
    ...CONNECTION_OPTIONS,
    key: { kind: 'value', value: 'KEY', parse: someText('the key'), description: 'Only the item of this key' },
    'new-generation': { kind: 'flag', description: 'Also compute finished items again' },
    cancelled: { kind: 'flag', description: 'Also bring back cancelled items' },
  },
  examples: [
    { line: 'queue retry images', description: 'After a bug is fixed' },
    { line: 'queue retry images --new-generation', description: 'Everything again, with a new model' },
  ],

  async run({ values, operands: [name = ''], output, env, clock, signal }): Promise<ExitCode> {
    const queue = queueName(name);
    const body = { key: values.key, newGeneration: values['new-generation'], cancelled: values.cancelled };
    const { changed } = await withClient({ values, env, clock }, (client) =>
      client.json<{ changed: number }>('POST', queuePath(queue, '/retry'), { body, signal }),
    );
    if (output.json) output.printJson({ schema: 'holdfast.queue-retry/1', queue, retried: changed });
    else output.note(`${counted(changed, 'item')} ready again`);
    return changed === 0 ? EXIT.nothing : EXIT.ok;
  },
});
