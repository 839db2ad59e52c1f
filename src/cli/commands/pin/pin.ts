import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';

/** The `pin` command. */
export const pin = defineCommand({
  description: 'Pins sealed checkpoints: no retention rule deletes them until you unpin them.',
  operand: {
    name: 'CHECKPOINT',
    description: 'The path of a sealed checkpoint in the folder of its run; its step may replace its name',
    count: 'many',
    complete: 'paths',
  },
  options: {},
  examples: [{ line: 'pin runs/gpt2/step-5000', description: 'Keep this checkpoint, whatever the rules of prune say' }],

  async run({ operands, output, clock }): Promise<ExitCode> {
    const { pinPath } = await import('./pin-path.ts');
    const pinned = operands.map((path) => pinPath(path, clock));
    if (output.json) output.printJson({ schema: 'holdfast.pin/1', pinned });
    else output.print(...pinned.map(({ path }) => `pinned  ${printable(path)}`));
    return EXIT.ok;
  },
});
