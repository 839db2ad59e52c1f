import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';

/** The command `holdfast unpin`. */
export const unpin = defineCommand({
  description: 'Unpins checkpoints: from now on retention may delete them.',
  operand: {
    name: 'CHECKPOINT',
    description: 'The path of a sealed checkpoint in the folder of its run; its step may replace its name',
    count: 'many',
    complete: 'paths',
  },
  options: {},
  examples: [{ line: 'unpin runs/gpt2/step-5000', description: 'Let prune delete this checkpoint again' }],

  async run({ operands, output, clock }): Promise<ExitCode> {
    const { unpinPath } = await import('../pin/pin-path.ts');
    const unpinned = operands.map((path) => unpinPath(path, clock));
    if (output.json) output.printJson({ schema: 'holdfast.unpin/1', unpinned });
    else output.print(...unpinned.map(({ path, wasPinned }) => `${wasPinned ? 'unpinned' : 'was not pinned'}  ${printable(path)}`));
    return EXIT.ok;
  },
});
