import { counted } from '../../../core/counted.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { type Millis, parseDuration } from '../../../core/duration.ts';
import type { Parsed } from '../../../core/parsed.ts';
import { defineCommand } from '../../frame/command.ts';
import { troubledItems, type StatusAnswer } from './answers.ts';
import { CONNECTION_OPTIONS, queueName, queuePath, withClient } from './connect.ts';

const ASK_MS = 1000;

/** The command `holdfast queue wait`. */
export const wait = defineCommand({
  description:
    'Waits until no item needs work any more: for scripts, and for Jobs that follow. Exit code 0: every item has its result; 1: some failed, were set aside or were cancelled; 75: the timeout passed.',
  operand: { name: 'QUEUE', description: 'The name of the queue', count: 'one', complete: { lines: 'queue status --quiet' } },
  options: {
    ...CONNECTION_OPTIONS,
    timeout: {
      kind: 'value',
      value: 'DURATION',
      parse: (text: string): Parsed<Millis> => parseDuration(text),
      description: 'Give up after this; without it, wait for ever',
    },
  },
  examples: [{ line: 'queue wait images && ./merge.sh', description: 'Merge the results when every item has one' }],

  async run({ values, operands: [name = ''], output, env, clock, signal }): Promise<ExitCode> {
    const queue = queueName(name);
    const until = values.timeout === null ? Infinity : clock.monotonic() + values.timeout;
    const status = await withClient({ values, env, clock }, async (client) => {
      for (;;) {
        const seen = await client.json<StatusAnswer>('GET', queuePath(queue), { signal });
        output.progress.update({ phase: 'waiting for', done: seen.total - seen.open, total: seen.total, unit: 'items', current: queue });
        if (seen.open === 0) return seen;
        if (clock.monotonic() >= until) {
          throw new HoldfastError('QUEUE_NOT_DONE', { message: `${counted(seen.open, 'item')} of ${queue} not finished` });
        }
        await clock.sleep(Math.min(ASK_MS, until - clock.monotonic()), { signal });
      }
    });
    if (output.json) output.printJson({ schema: 'holdfast.queue-wait/1', ...status });
    const troubled = troubledItems(status);
    if (troubled === 0) return EXIT.ok;
    const { failed, aside, cancelled } = status.counts;
    throw new HoldfastError('QUEUE_ITEMS_FAILED', {
      message: `${counted(status.counts.done, 'item')} of ${queue} done; ${failed} failed, ${aside} set aside, ${cancelled} cancelled`,
      hint:
        failed + aside > 0
          ? `\`holdfast queue failed ${queue}\` shows what failed.`
          : `\`holdfast queue retry ${queue} --cancelled\` brings them back.`,
    });
  },
});
