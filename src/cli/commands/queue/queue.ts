import { EXIT } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { QUEUE_VERBS } from './verbs.ts';

/** `holdfast queue`: its commands do the work. */
export const queue = defineCommand({
  description:
    'A work queue for batch inference on machines that vanish. A lease ends with its worker, an interruption is not a try, and every item has one result, written once.',
  operand: {
    name: 'COMMAND',
    description: 'the command of the queue',
    count: 'any',
    complete: { words: QUEUE_VERBS.map(({ name }) => name.split(' ')[1] ?? '') },
  },
  options: {},
  examples: [
    { line: 'queue serve', description: 'Serve queues from one file' },
    { line: 'queue push images items.jsonl', description: 'Add items' },
    { line: 'queue status images', description: 'Show progress' },
    { line: 'queue results images > out.jsonl', description: 'Print the results, also while workers run' },
  ],
  // The frame answers for the commands below; this one alone does nothing.
  run: async () => EXIT.usage,
});
