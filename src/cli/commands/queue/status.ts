import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import type { StatusAnswer } from './answers.ts';
import { CONNECTION_OPTIONS, queueName, queuePath, withClient } from './connect.ts';

const ASK_MS = 500;

const documentOf = (seen: StatusAnswer): object => ({ schema: 'holdfast.queue-status/1', ...seen });

/** The command `holdfast queue status`. */
export const status = defineCommand({
  description:
    'Shows the progress of a queue: items by state, the rate of the last minute and the time left at that rate, the cost of interruptions, and the leases of each worker. Without a name: all queues.',
  operand: { name: 'QUEUE', description: 'The name of the queue', count: 'optional', complete: { lines: 'queue status --quiet' } },
  options: {
    ...CONNECTION_OPTIONS,
    follow: { kind: 'flag', short: 'f', description: 'Update the view until every item is finished, or Ctrl-C' },
  },
  examples: [
    { line: 'queue status', description: 'All queues' },
    { line: 'queue status images --follow', description: 'A live view' },
  ],

  async run({ values, operands: [name], output, env, clock, signal }): Promise<ExitCode> {
    const { renderQueues, renderStatus } = await import('./render-status.ts');
    return withClient({ values, env, clock }, async (client): Promise<ExitCode> => {
      const ask = (queue: string): Promise<StatusAnswer> => client.json<StatusAnswer>('GET', queuePath(queue), { signal });
      if (name === undefined) {
        const { queues } = await client.json<{ queues: string[] }>('GET', '/v1/queues', { signal });
        if (output.quiet && !output.json) output.print(...queues);
        else {
          const all = await Promise.all(queues.map(ask));
          if (output.json) output.printJson({ schema: 'holdfast.queue-status/1', queues: all });
          else output.print(...renderQueues(all));
        }
        if (queues.length === 0) output.note('the server has no queues');
        return queues.length === 0 ? EXIT.nothing : EXIT.ok;
      }
      const queue = queueName(name);
      let seen = await ask(queue);
      while (values.follow && seen.open > 0) {
        if (output.json) output.print(JSON.stringify(documentOf(seen)));
        else output.block.draw(renderStatus(seen, { now: clock.now(), output }));
        await clock.sleep(ASK_MS, { signal });
        seen = await ask(queue);
      }
      if (output.json && values.follow) output.print(JSON.stringify(documentOf(seen)));
      else if (output.json) output.printJson(documentOf(seen));
      else output.block.settle(renderStatus(seen, { now: clock.now(), output }));
      return EXIT.ok;
    });
  },
});
