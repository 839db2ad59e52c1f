import { counted } from '../../../core/counted.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { type Millis, parseDuration } from '../../../core/duration.ts';
import type { Parsed } from '../../../core/parsed.ts';
import { defineCommand } from '../../frame/command.ts';
import { wholeNumber } from '../../frame/option-values.ts';
import { CONNECTION_OPTIONS, queueName, tokenOf, urlOf } from './connect.ts';

/** The command `holdfast queue work`. */
export const work = defineCommand({
  description:
    'Runs a program on the items of a queue. The program gets one JSON line per item on standard input ({"key", "value", "token", "generation", "progress"}) and answers with one line on standard output: {"result": …} or {"error": "…"}; {"progress": …} before that is kept for the next worker. The worker leases, renews, commits and reconnects. At SIGTERM the current item may finish within the grace, all other items are given back at once, and the exit code is 143. The exit code is 0 when nothing is left to do.',
  operand: {
    name: 'QUEUE COMMAND',
    description: 'The name of the queue, then -- and the program with its arguments',
    count: 'many',
    complete: { lines: 'queue status --quiet' },
  },
  options: {
    ...CONNECTION_OPTIONS,
    grace: {
      kind: 'value',
      value: 'DURATION',
      parse: (text: string): Parsed<Millis> => parseDuration(text),
      description: 'How long the current item may continue after a notice',
      default: '20s',
    },
    ahead: {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('a number of items', 1),
      description:
        'Lease at most this many items at a time; the actual number follows from the duration of items and the rate of interruptions',
      default: '100',
    },
    forever: { kind: 'flag', description: 'Wait for more when nothing is left to do' },
  },
  examples: [{ line: 'queue work images -- ./classify', description: 'A program in any language' }],

  async run({ values, operands: [name = '', ...command], output, env, clock, signal }): Promise<ExitCode> {
    const queue = queueName(name);
    if (command.length === 0)
      throw new HoldfastError('USAGE', { message: 'COMMAND is missing: the program that works on the items, after --' });
    const { runWorker } = await import('./run-worker.ts');
    const connection = { url: urlOf(values.url, env), token: await tokenOf(values['token-file'], env) };
    const report = await runWorker({ connection, queue, command, env, clock, output, signal, values });
    if (output.json) output.printJson({ schema: 'holdfast.queue-work/1', queue, ...report });
    else
      output.note(
        `${counted(report.done, 'item')} done, ${report.failed} failed, ${report.givenBack} given back${report.refused > 0 ? `, ${report.refused} came too late` : ''}`,
      );
    signal.throwIfAborted();
    return EXIT.ok;
  },
});
