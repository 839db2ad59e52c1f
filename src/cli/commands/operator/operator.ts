import { EXIT } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { OPERATOR_VERBS } from './verbs.ts';

/** `holdfast operator`: its commands do the work. */
export const operator = defineCommand({
  description:
    'Runs PyTorchJobs and TFJobs unchanged, each as one gang: one attempt at a time, restarted at the first lost pod. A TrainingRun keeps what happened.',
  operand: {
    name: 'COMMAND',
    description: 'what to do',
    count: 'any',
    complete: { words: OPERATOR_VERBS.map(({ name }) => name.split(' ')[1] ?? '') },
  },
  options: {},
  examples: [{ line: 'operator run --context=lab', description: 'Run the jobs of a cluster from here' }],
  // The frame answers for the commands below; this one alone does nothing.
  run: async () => EXIT.usage,
});
