import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand, type Invocation } from '../../frame/command.ts';
import { CONNECTION_OPTIONS, queueName, queuePath, withClient } from './connect.ts';

const QUEUE = { name: 'QUEUE', description: 'The name of the queue', count: 'one', complete: { lines: 'queue status --quiet' } } as const;

/** The command `holdfast queue pause`. */
export const pause = defineCommand({
  description: 'Stops leasing items to workers. Workers finish the items that they hold, and then wait.',
  operand: QUEUE,
  options: CONNECTION_OPTIONS,
  examples: [{ line: 'queue pause images', description: 'Stop giving out items' }],
  run: (invocation) => setPaused(invocation, 'pause'),
});

/** The command `holdfast queue resume`. */
export const resume = defineCommand({
  description: 'Gives items to workers again after a pause.',
  operand: QUEUE,
  options: CONNECTION_OPTIONS,
  examples: [{ line: 'queue resume images', description: 'Give out items again' }],
  run: (invocation) => setPaused(invocation, 'resume'),
});

async function setPaused(
  { values, operands: [name = ''], output, env, clock, signal }: Invocation<typeof CONNECTION_OPTIONS>,
  verb: 'pause' | 'resume',
): Promise<ExitCode> {
  const queue = queueName(name);
  await withClient({ values, env, clock }, (client) => client.json('POST', queuePath(queue, `/${verb}`), { body: {}, signal }));
  if (output.json) output.printJson({ schema: `holdfast.queue-${verb}/1`, queue, paused: verb === 'pause' });
  else output.note(verb === 'pause' ? `${queue} is paused` : `${queue} is resumed`);
  return EXIT.ok;
}
