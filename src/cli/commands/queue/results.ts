import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import type { StoredResult } from '../../../queue/backend.ts';
import { inOneLine } from '../../../queue/text-lines.ts';
import { defineCommand } from '../../frame/command.ts';
import { wholeNumber } from '../../frame/option-values.ts';
import { CONNECTION_OPTIONS, queueName, queuePath, withClient } from './connect.ts';

/** Lines are printed together: a write for each would take longer than the rest. */
const LINES = 500;

/** The command `holdfast queue results`. */
export const results = defineCommand({
  description:
    'Prints the committed results, one JSON object per line in the order of the pushed items: key, generation and result. You can run it at any time, also while workers run. A truncated list ends with an error and never looks complete.',
  operand: { name: 'QUEUE', description: 'The name of the queue', count: 'one', complete: { lines: 'queue status --quiet' } },
  options: {
    ...CONNECTION_OPTIONS,
    generation: {
      kind: 'value',
      value: 'NUMBER',
      parse: wholeNumber('a generation', 1),
      description: 'Only the results of this generation (default: the newest result of each item)',
    },
  },
  examples: [
    { line: 'queue results images > out.jsonl', description: 'All results' },
    { line: 'queue results images --generation=1', description: 'Results of the first generation' },
  ],

  async run({ values, operands: [name = ''], output, env, clock, signal }): Promise<ExitCode> {
    const queue = queueName(name);
    const asked = values.generation === null ? '' : `?generation=${values.generation}`;
    let lines: string[] = [];
    await withClient({ values, env, clock }, async (client) => {
      for await (const { key, generation, result } of client.lines<StoredResult>(queuePath(queue, `/results${asked}`), signal)) {
        // The result is JSON text already, and is printed as it was handed in.
        lines.push(`{"key":${JSON.stringify(key)},"generation":${generation},"result":${inOneLine(result)}}`);
        if (lines.length < LINES) continue;
        output.print(...lines);
        lines = [];
      }
    });
    if (lines.length > 0) output.print(...lines);
    return EXIT.ok;
  },
});
