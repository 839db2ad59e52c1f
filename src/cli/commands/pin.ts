import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { printable } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';

export const pin = defineCommand({
  description: 'Pins sealed checkpoints: no retention rule deletes them, until they are unpinned.',
  operand: {
    name: 'CHECKPOINT',
    description: 'A sealed checkpoint in the folder of its run, by its path, or by its step in place of its name',
    count: 'many',
    complete: 'paths',
  },
  options: {},
  examples: [{ line: 'pin runs/gpt2/step-5000', description: 'Keep this one whatever prune is told' }],

  async run({ operands, output, clock }): Promise<ExitCode> {
    const { pinPath } = await import('../store/pin-path.ts');
    const pinned = operands.map((path) => pinPath(path, clock));
    if (output.json) output.printJson({ schema: 'holdfast.pin/1', pinned });
    else output.print(...pinned.map(({ path }) => `pinned  ${printable(path)}`));
    return EXIT.ok;
  },
});
