import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { printable } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';

export const unpin = defineCommand({
  description: 'Unpins checkpoints: from now on retention may delete them.',
  operand: {
    name: 'CHECKPOINT',
    description: 'A sealed checkpoint in the folder of its run, by its path, or by its step in place of its name',
    count: 'many',
    complete: 'paths',
  },
  options: {},
  examples: [{ line: 'unpin runs/gpt2/step-5000', description: 'Let prune decide again' }],

  async run({ operands, output, clock }): Promise<ExitCode> {
    const { unpinPath } = await import('../store/pin-path.ts');
    const unpinned = operands.map((path) => unpinPath(path, clock));
    if (output.json) output.printJson({ schema: 'holdfast.unpin/1', unpinned });
    else output.print(...unpinned.map(({ path, wasPinned }) => `${wasPinned ? 'unpinned' : 'was not pinned'}  ${printable(path)}`));
    return EXIT.ok;
  },
});
